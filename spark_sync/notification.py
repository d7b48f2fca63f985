"""Notification of decision services: a request to download newer policies now.

Law: a notification can only cause downloads. Whatever a service answers, however slow, large or hostile: the caller
gets a result within the time-out and no exception, no other server gets the secret, and
nothing of the answer is in the result except its status.
"""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPException
from typing import Final

import msgspec

from ranger_cdap.config import Address, NotifySettings, Settings
from ranger_cdap.config.address import NOTIFY, checked_address
from ranger_cdap.errors import ConfigError
from ranger_cdap.net.deadline import AbortableConnection, Conversation, DeadlinePassed
from ranger_cdap.net.tls import TlsFiles
from ranger_cdap.ranger_model.json_text import decode_or_none

_REFRESH: Final = "/cdap/v1/refresh"
_POLICIES: Final = "/cdap/v1/policies"
_NOW: Final = b'{"at_least":null}'
# A version that no policies have: rejected after the check of the role, before anything is downloaded.
_NEVER: Final = b'{"at_least":0}'
_TIMEOUT: Final = 2.0
_URL: Final = "correct `url` of `[[sync.notify]]`"


class _PoliciesAnswer(msgspec.Struct, frozen=True):
    """The part of a decision service's answer that shows that it is one."""

    service: str
    version: int


@dataclass(frozen=True, slots=True)
class NotifyProblem:
    """The reason why a service was not notified, without the service's own words, and what to do."""

    text: str
    advice: str


@dataclass(frozen=True, slots=True)
class NotifyResult:
    """The result for the decision service at `url`; without a problem, it downloads the policies now."""

    url: str
    problem: NotifyProblem | None = None

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

# The first that fits. A certificate that is not verified is an error of TLS and a `ValueError` as well.
_FAILURES: Final[tuple[tuple[type[Exception], NotifyProblem], ...]] = (
    (
        ssl.SSLError,
        NotifyProblem(
            "cannot be reached: its certificate or TLS settings are not accepted",
            "`network.ca_file` names the CA to trust, `sync.cert_file` the certificate to show it",
        ),
    ),
    (socket.gaierror, NotifyProblem("cannot be reached: its name cannot be resolved", _URL)),
    (UnicodeError, NotifyProblem("cannot be reached: its name cannot be resolved", _URL)),
    (
        ConnectionRefusedError,
        NotifyProblem("cannot be reached: the connection was refused", f"start the service, or {_URL}"),
    ),
    (
        TimeoutError,
        NotifyProblem("did not answer within the time-out", "check service and network"),
    ),
    (OSError, NotifyProblem("cannot be reached: the connection broke off", f"check service and network, or {_URL}")),
    (
        RuntimeError,
        NotifyProblem("was not notified: no thread can be started", "raise the limit of processes of this user"),
    ),
    (HTTPException, _NO_SERVICE),
    (ValueError, _NO_SERVICE),
)

_Talk = Callable[[NotifySettings, str, AbortableConnection], NotifyProblem | None]


def notify(settings: Settings, timeout: float = _TIMEOUT) -> tuple[NotifyResult, ...]:
    """Request a download of newer policies from every service of `[[sync.notify]]`, all at the same time.

    It names no version: the account of the sync job cannot read Ranger's `policyVersion`, which only administrators
    see. Results are in the order of the settings.
    """
    return _with_each(settings, _request, timeout)


def rehearse(settings: Settings, timeout: float = _TIMEOUT) -> tuple[NotifyResult, ...]:
    """Return the results that `notify` would have, from the same checks of the services, without a download."""
    return _with_each(settings, _try, timeout)


def check_notify(settings: Settings) -> None:
    """Check the settings of `[[sync.notify]]`, without a request.

    Raises:
        ConfigError: an address, a secret or a file of certificates cannot be used.
    """
    if settings.sync.notify:
        _tls(settings).context()
    for service in settings.sync.notify:
        _address(service, settings)
        _headers(service)


def _with_each(settings: Settings, talk: _Talk, timeout: float) -> tuple[NotifyResult, ...]:
    services, ranger = settings.sync.notify, settings.ranger.service
    begun = [_begin(service, settings, partial(_safely, talk, service, ranger), timeout) for service in services]
    found = [one() if callable(one) else one for one in begun]
    # The loader accepts no address with a password; none is shown here either.
    return tuple(
        NotifyResult(one.url.rpartition("@")[2], problem) for one, problem in zip(services, found, strict=True)
    )


def _begin(
    service: NotifySettings,
    settings: Settings,
    talk: Callable[[AbortableConnection], NotifyProblem | None],
    timeout: float,
) -> NotifyProblem | Callable[[], NotifyProblem | None]:
    """Begin a conversation; return the function that waits for its result."""
    try:
        connection = AbortableConnection(_address(service, settings), _tls(settings), timeout)
        conversation = Conversation(connection, talk, timeout=timeout)
    except (ConfigError, RuntimeError) as e:
        return _problem_of(e)
    return partial(_result, conversation)


def _result(conversation: Conversation[NotifyProblem | None]) -> NotifyProblem | None:
    try:
        return conversation.result()
    except DeadlinePassed as e:
        return _problem_of(e)


def _safely(talk: _Talk, service: NotifySettings, ranger: str, connection: AbortableConnection) -> NotifyProblem | None:
    try:
        return talk(service, ranger, connection)
    except Exception as e:
        # No answer may raise into a run, in whatever way it is wrong.
        return _problem_of(e)


def _problem_of(error: Exception) -> NotifyProblem:
    if isinstance(error, ConfigError):
        return NotifyProblem(
            f"was not notified: {error}", "correct `[[sync.notify]]`, the certificates of `[sync]` or `network.ca_file`"
        )
    found = (problem for kind, problem in _FAILURES if isinstance(error, kind))
    return next(found, NotifyProblem(f"was not notified: {type(error).__name__}", "report it as a defect"))


def _request(service: NotifySettings, ranger: str, connection: AbortableConnection) -> NotifyProblem | None:
    return _verify(*connection.ask("POST", _REFRESH, _headers(service), _NOW), ranger)


def _try(service: NotifySettings, ranger: str, connection: AbortableConnection) -> NotifyProblem | None:
    problem = _verify(*connection.ask("GET", _POLICIES, _headers(service)), ranger)
    if problem is not None:
        return problem
    status, _ = connection.ask("POST", _REFRESH, _headers(service), _NEVER)
    return None if status == HTTPStatus.BAD_REQUEST else _problem_with(status)


def _address(service: NotifySettings, settings: Settings) -> Address:
    return checked_address(service.url, NOTIFY, settings.network.plain_hosts)


def _tls(settings: Settings) -> TlsFiles:
    return TlsFiles.of(settings.network.ca_file, settings.sync.cert_file, settings.sync.key_file)


def _headers(service: NotifySettings) -> Mapping[str, str]:
    credentials = base64.b64encode(f"{service.caller}:{service.secret.reveal()}".encode("utf-8", "surrogateescape"))
    return {"Authorization": f"Basic {credentials.decode()}", "Content-Type": "application/json"}


def _verify(status: int, body: bytes, ranger: str) -> NotifyProblem | None:
    if status != HTTPStatus.OK:
        return _problem_with(status)
    if (answer := decode_or_none(body, _PoliciesAnswer)) is None:
        return _NO_SERVICE
    if answer.service != ranger:
        return NotifyProblem(f"decides by another service of Ranger than `{ranger}`", _URL)
    return None


def _problem_with(status: int) -> NotifyProblem:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status // 100 == 3:
        return NotifyProblem(f"answers with a redirect (HTTP {status}), which is not followed", _URL)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return NotifyProblem(f"failed (HTTP {status})", "see its log")
    return NotifyProblem(f"answers HTTP {status}", f"{_URL} if it is not that of a decision service")
