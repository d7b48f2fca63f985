"""Notification of decision services: a request to download newer policies now.

Law: a notification can only cause downloads. Whatever a service answers, however slow, large or hostile: the caller
gets a result within the time-out and no exception, no other server gets the secret, and
nothing of the answer is in the result except its status.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Final

from ranger_cdap.client import DecisionClient, ServiceRequest
from ranger_cdap.client.deadline_transport import until
from ranger_cdap.config import NotifySettings, Settings
from ranger_cdap.config.address import NOTIFY
from ranger_cdap.errors import ConfigError, DecisionServiceError, NotReady
from ranger_cdap.net import failures
from ranger_cdap.wire.cdap_wire import PoliciesReply
from spark_sync.service_client import service_client
from spark_sync.tasks import in_another_thread

_REFRESH: Final = "/cdap/v1/refresh"
_TIMEOUT: Final = 2.0
_URL: Final = "correct `url` of `[[sync.notify]]`"


class _PoliciesAnswer(PoliciesReply, frozen=True, forbid_unknown_fields=False):
    """The policies of a decision service; fields that a newer one adds are ignored."""


_REQUEST: Final = ServiceRequest("POST", _REFRESH, _PoliciesAnswer, lambda *_: "", b'{"at_least":null}')


@dataclass(frozen=True, slots=True)
class NotifyProblem:
    """The reason why a service was not notified, without the service's own words, and what to do."""

    text: str
    advice: str


@dataclass(frozen=True, slots=True)
class NotifyResult:
    """The result for the decision service at `url`; without a problem, it downloads the policies now."""

    url: str
    problem: NotifyProblem | None

    def __str__(self) -> str:
        if self.problem is None:
            return f"the decision service at `{self.url}` was notified"
        return f"the decision service at `{self.url}` {self.problem.text}; {self.problem.advice}"


_BY_STATUS: Final[Mapping[int, NotifyProblem]] = {
    401: NotifyProblem("does not accept the caller (HTTP 401)", "correct `caller` and `secret` of `[[sync.notify]]`"),
    403: NotifyProblem(
        "does not let the caller request policies (HTTP 403)",
        "give that caller the role `refresh` in `[[service.callers]]`",
    ),
    404: NotifyProblem(f"has no `{_REFRESH}` (HTTP 404)", f"{_URL}, or upgrade that service"),
    421: NotifyProblem("does not answer under that name (HTTP 421)", "add the name to its `service.hosts`"),
    429: NotifyProblem("gets too many requests of that caller (HTTP 429)", "look at what else uses that caller"),
    503: NotifyProblem("is overloaded (HTTP 503)", "look at its load if that continues"),
}
_NO_SERVICE: Final = NotifyProblem("does not answer as a decision service", _URL)
_NO_THREAD: Final = NotifyProblem(
    "was not notified: no thread can be started", "raise the limit of processes of this user"
)

_ADVICE: Final[Mapping[str, str]] = {
    failures.UNTRUSTED: "`network.ca_file` names the CA to trust, `sync.cert_file` the certificate to show it",
    failures.UNKNOWN_NAME: _URL,
    failures.REFUSED: f"start the service, or {_URL}",
}
"""What to do about a failure of a request."""


def notify(settings: Settings, timeout: float = _TIMEOUT) -> tuple[NotifyResult, ...]:
    """Request a download of newer policies from every service of `[[sync.notify]]`, all at the same time.

    It names no version: the account of the sync job cannot read Ranger's `policyVersion`, which only administrators
    see. Results are in the order of the settings.
    """
    services, end = settings.sync.notify, time.monotonic() + timeout
    begun = [
        in_another_thread(partial(copy_context().run, _problem, service, settings, end), "ranger-cdap-notification")
        for service in services
    ]
    # The loader accepts no address with a password; none is shown here either.
    return tuple(
        NotifyResult(one.url.rpartition("@")[2], _awaited(answer, end))
        for one, answer in zip(services, begun, strict=True)
    )


def check_notify(settings: Settings) -> None:
    """Check the settings of `[[sync.notify]]`, without a request.

    Raises:
        ConfigError: an address, a secret or a file of certificates cannot be used.
    """
    for service in settings.sync.notify:
        _client(service, settings).close()


def _awaited(problem: Future[NotifyProblem | None], end: float) -> NotifyProblem | None:
    try:
        return problem.result(max(0.0, end - time.monotonic()))
    except TimeoutError:
        return _unreachable(failures.NO_ANSWER)
    except RuntimeError:
        return _NO_THREAD


def _problem(service: NotifySettings, settings: Settings, end: float) -> NotifyProblem | None:
    try:
        with _client(service, settings) as client, until(end):
            answer = client.ask(_REQUEST)
    except Exception as e:
        # No answer may raise into a run, in whatever way it is wrong.
        return _problem_of(e)
    if answer.service != settings.ranger.service:
        return NotifyProblem(f"decides by another service of Ranger than `{settings.ranger.service}`", _URL)
    return None


def _problem_of(error: Exception) -> NotifyProblem:
    match error:
        case ConfigError():
            return NotifyProblem(
                f"was not notified: {error}",
                "correct `[[sync.notify]]`, the certificates of `[sync]` or `network.ca_file`",
            )
        case NotReady():
            return _BY_STATUS[HTTPStatus.SERVICE_UNAVAILABLE]
        case DecisionServiceError(status=status) if status:
            return _problem_with(status)
        case DecisionServiceError(failure="") | DecisionServiceError(failure=failures.NOT_HTTP):
            return _NO_SERVICE
        case DecisionServiceError(failure=reason):
            return _unreachable(reason)
    return NotifyProblem(f"was not notified: {type(error).__name__}", "report it as a defect")


def _unreachable(reason: str) -> NotifyProblem:
    return NotifyProblem(f"cannot be reached: {reason}", _ADVICE.get(reason, f"check service and network, or {_URL}"))


def _client(service: NotifySettings, settings: Settings) -> DecisionClient:
    return service_client(settings, service.url, NOTIFY, service.caller, service.secret)


def _problem_with(status: int) -> NotifyProblem:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status // 100 == 3:
        return NotifyProblem(f"answers with a redirect (HTTP {status}), which is not followed", _URL)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return NotifyProblem(f"failed (HTTP {status})", "see its log")
    return NotifyProblem(f"answers HTTP {status}", f"{_URL} if it is not that of a decision service")
