"""Middleware in front of every request: request id, host check, concurrency and body limits, access log."""

from __future__ import annotations

import ipaddress
import itertools
import logging
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from msgspec.structs import replace
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ranger_cdap.net.http_exchange import Whole
from ranger_cdap.service.http.metrics import UNDER_WAY, ServiceMetrics
from ranger_cdap.service.http.reply import Refused, Reply, coded_error
from ranger_cdap.service.http.request_spans import RequestSpans

logger = logging.getLogger("ranger_cdap.service.requests")

_REQUEST_ID: Final = b"x-request-id"
_ACCEPTABLE_ID = re.compile(r"[\t -~\x80-\xff]{1,128}")
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_UNKNOWN_ROUTE: Final = "unknown"

# No page of another site may use the browser of a signed-in user, nor embed this one.
_ALWAYS: Final = {
    b"cache-control": b"no-store",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    # Not `no-referrer`: forms would come with `Origin: null`, as if from another site.
    b"referrer-policy": b"same-origin",
    b"content-security-policy": b"; ".join(
        (
            b"default-src 'none'",
            b"style-src 'self'",
            b"form-action 'self'",
            b"frame-ancestors 'none'",
            b"base-uri 'none'",
        )
    ),
}


@dataclass(eq=False, kw_only=True)
class RequestGuard:
    """ASGI middleware; `scope["state"]["request_id"]` is the id of the request, echoed or generated.

    A request must name one of `hosts`, or loopback. `public` are the paths that may be read under any IP address too:
    probes and Prometheus use that of the pod, and no page of another site can, because its requests name a host.
    `errors` are the forms of errors by path; JSON with a code for the others. With `spans`, each request is traced.
    `at_once` replies to a request without waiting, exactly as `app` would; None, with nothing done, if only `app` can.
    """

    app: ASGIApp
    metrics: ServiceMetrics
    hosts: Collection[str]
    public: Collection[str]
    max_requests: int
    max_body: int
    errors: Mapping[str, Callable[[Refused], Reply]]
    spans: RequestSpans | None = None
    at_once: Callable[[Scope, Mapping[bytes, bytes], bytes], Reply | None] = lambda _scope, _headers, _body: None

    def __post_init__(self) -> None:
        self._hosts = _LOOPBACK | {host.lower() for host in self.hosts}
        self._under_way = 0
        # A random id for each request would cost as much as to authenticate its caller.
        self._ids = (f"{prefix}-{number}" for prefix in (uuid.uuid4().hex,) for number in itertools.count(1))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        scope.setdefault("state", {})["request_id"] = self._request_id(headers)
        status = 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = scope["state"]["status"] = message["status"]
                message = {**message, "headers": _with_ours(message["headers"], scope)}
            await send(message)

        self._under_way += 1
        self.metrics.count(UNDER_WAY)
        try:
            refused = self._refuse(scope, headers)
            await (send_reply(refused, answer) if refused is not None else self.app(scope, receive, answer))
        finally:
            self._under_way -= 1
            self.metrics.count(UNDER_WAY, -1)
            self._count(scope, status, time.perf_counter() - began)

    def answer_at_once(self, scope: Scope, body: bytes) -> Whole | None:
        """Answer a whole request as `__call__` does, where `at_once` can; None for all other requests."""
        began = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if (
            len(headers) < len(scope["headers"])
            or self._under_way >= self.max_requests
            or self._refuse(scope, headers)
            or (reply := self.at_once(scope, headers, body)) is None
        ):
            return None
        scope["state"]["request_id"] = self._request_id(headers)
        self._count(scope, reply.status, time.perf_counter() - began)
        return reply.status, _with_ours(_fields(reply), scope), reply.body

    def _request_id(self, headers: Mapping[bytes, bytes]) -> str:
        text = headers.get(_REQUEST_ID, b"").decode("latin-1")
        return text if _ACCEPTABLE_ID.fullmatch(text) else next(self._ids)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        state: dict[str, Any] = scope["state"]
        route = state.get("route", _UNKNOWN_ROUTE)
        trace_id = self.spans.record(scope, status, seconds) if self.spans is not None else ""
        self.metrics.answered(route, status, seconds)
        # Probes and scrapes come every few seconds, whether anything happens or not.
        level = logging.DEBUG if status == HTTPStatus.OK and scope["path"] in self.public else logging.INFO
        if logger.isEnabledFor(level):
            logger.log(
                level,
                "%s",
                route,
                extra={
                    "request_id": state["request_id"],
                    **({"trace_id": trace_id} if trace_id else {}),
                    "caller": state.get("caller", ""),
                    "route": route,
                    "status": status,
                    "seconds": round(seconds, 6),
                },
            )

    def _refuse(self, scope: Scope, headers: dict[bytes, bytes]) -> Reply | None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = re.sub(r":\d*$", "", host)
        error = self.errors.get(scope["path"], coded_error)
        known = name in self._hosts or (scope["method"] == "GET" and scope["path"] in self.public and _is_address(name))
        if not known or [given for given, _ in scope["headers"]].count(b"host") != 1:
            return error(Refused(421, "this service does not answer under that host name; see `service.hosts`"))
        if self._under_way > self.max_requests:
            return replace(error(Refused(503, "too many concurrent requests; try again")), headers={"retry-after": "1"})
        length = headers.get(b"content-length", b"0")
        return (
            replace(error(too_long(self.max_body)), headers={"connection": "close"})
            if not length.isdigit() or int(length) > self.max_body
            else None
        )


def _is_address(host: str) -> bool:
    """Return whether the host is an IP address, an IPv6 one in brackets."""
    in_brackets = host.startswith("[") and host.endswith("]")
    try:
        return (ipaddress.ip_address(host[1:-1] if in_brackets else host).version == 6) is in_brackets
    except ValueError:
        return False


def too_long(most: int) -> Refused:
    """Return the error for a body that exceeds the limit."""
    return Refused(413, f"the body is longer than {most} bytes")


async def send_reply(reply: Reply, send: Callable[[Message], Awaitable[None]]) -> None:
    """The reply as ASGI messages."""
    await send({"type": "http.response.start", "status": reply.status, "headers": _fields(reply)})
    await send({"type": "http.response.body", "body": reply.body})


def _fields(reply: Reply) -> list[tuple[bytes, bytes]]:
    headers = {"content-type": reply.content_type, "content-length": str(len(reply.body)), **reply.headers}
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def _with_ours(fields: list[tuple[bytes, bytes]], scope: Scope) -> list[tuple[bytes, bytes]]:
    """Return the fields of an answer with those that every answer has."""
    return [*fields, *_ALWAYS.items(), (_REQUEST_ID, scope["state"]["request_id"].encode("latin-1"))]
