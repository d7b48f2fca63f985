"""Parts of an HTTP exchange that both clients share: headers, the bounded body, retries, and what a failure means."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, TypeVar

import httpcore
import httpx
import stamina

from ranger_cdap.client.client_settings import ClientSettings
from ranger_cdap.client.service_request import ServiceRequest
from ranger_cdap.client.service_response import ServiceResponse, read_reply
from ranger_cdap.errors import DecisionServiceError, DecisionServiceUnreachable, UnexpectedReply
from ranger_cdap.net.failures import failure_of

T = TypeVar("T")

FAILURES: Final = (
    httpx.HTTPError,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    OSError,
    UnicodeError,
)
"""Exceptions of an exchange that did not end with a whole response."""


class FailedAttempt(Exception):
    """Attempt without a reply; `again`: another one may have it."""

    def __init__(self, error: DecisionServiceError, *, again: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.again = again


def client_options(settings: ClientSettings) -> dict[str, Any]:
    """Return the options of an `httpx` client: no redirects, no cookies, nothing of the environment, no compression."""
    return {
        "base_url": settings.url,
        "follow_redirects": False,
        "trust_env": False,
        "timeout": settings.timeout,
        "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=())),
        "headers": {"User-Agent": "ranger-cdap", "Accept": "application/json", "Accept-Encoding": "identity"},
    }


def request_headers(settings: ClientSettings, request: ServiceRequest[Any]) -> dict[str, str]:
    """Return the headers of one attempt, with an id that no other request has, and the trace of the program, if any.

    Raises:
        ConfigError: the secret or token cannot be read.
    """
    headers = {"X-Request-Id": uuid.uuid4().hex, **trace_headers()}
    if request.body is not None:
        headers["Content-Type"] = "application/json"
    return headers if request.public else headers | dict(settings.authorization())


def trace_headers() -> Mapping[str, str]:
    """Return the `traceparent` of this program's current span (W3C Trace Context); empty without one.

    Law: nothing is imported. A program with a current span has loaded OpenTelemetry's API itself.
    """
    api = sys.modules.get("opentelemetry.trace")
    context = api.get_current_span().get_span_context() if api is not None else None
    if context is None or not context.is_valid:
        return {}
    # The flags that version 00 defines, and no others, which a later version of the API may have.
    return {"traceparent": f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 3:02x}"}


@dataclass(eq=False, slots=True)
class BoundedBody:
    """Body of a response, up to a size."""

    settings: ClientSettings
    _read: int = 0
    _pieces: list[bytes] = field(default_factory=list)

    def add(self, piece: bytes) -> None:
        """Add a piece.

        Raises:
            FailedAttempt: the body exceeds the limit.
        """
        self._read += len(piece)
        if self._read > (most := self.settings.max_response):
            raise FailedAttempt(UnexpectedReply(f"the response of `{self.settings.url}` exceeds {most} bytes"))
        self._pieces.append(piece)

    def response(self, received: httpx.Response) -> ServiceResponse:
        """Return the whole response as a value."""
        names = ("content-type", "content-encoding", "x-request-id")
        return ServiceResponse(
            received.status_code, b"".join(self._pieces), *(received.headers.get(name, "") for name in names)
        )


def reply_of(settings: ClientSettings, request: ServiceRequest[T], response: ServiceResponse, request_id: str) -> T:
    """Return the reply in the response.

    Raises:
        FailedAttempt: the service may answer the request later.
        RangerCdapError: as `read_reply`.
    """
    try:
        return read_reply(settings.url, request, response, request_id)
    except DecisionServiceUnreachable as e:
        raise FailedAttempt(e, again=request.repeatable) from None


def failed(settings: ClientSettings, request: ServiceRequest[Any], error: BaseException) -> FailedAttempt:
    """Return the failure that an exception of the network means; its text has neither credentials nor content."""
    failure = failure_of(error)
    unreachable = DecisionServiceUnreachable(
        f"the decision service at `{settings.url}` is unavailable: {failure.reason}", failure=failure.reason
    )
    return FailedAttempt(unreachable, again=failure.unsent or request.repeatable)


def retries(settings: ClientSettings) -> Any:
    """Return the attempts of one request, for `for` and `async for`."""
    return stamina.retry_context(
        on=lambda e: isinstance(e, FailedAttempt) and e.again,
        attempts=settings.attempts,
        timeout=settings.timeout,
        wait_initial=0.1,
        wait_max=1.0,
        wait_jitter=0.1,
    )
