"""ASGI application of the decision service: one endpoint for each route of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.types import Scope

from ranger_cdap.ranger_model.json_text import Undecodable
from ranger_cdap.ranger_model.strict_json import decode_strictly
from ranger_cdap.service.api.routes import ApiRoute
from ranger_cdap.service.http.callers import Caller, CallerRole, Callers
from ranger_cdap.service.http.endpoint import Endpoint, Router
from ranger_cdap.service.http.reply import JSON, Refused, Reply
from ranger_cdap.service.http.request_guard import RequestGuard
from ranger_cdap.service.http.request_spans import RequestSpans
from ranger_cdap.service.http.shares import Shares
from ranger_cdap.service.state.app_state import AppState
from ranger_cdap.service.state.call import HandlerCall

_READ_AT_ONCE: Final = 16_384
"""Largest body, in bytes, that the event loop's thread parses itself; a larger one would block all other requests."""


def create_app(state: AppState, callers: Callers, routes: Sequence[ApiRoute]) -> RequestGuard:
    """Return the application that serves the routes from the state."""
    service = state.settings.service
    shares = Shares(service, state.limits)
    paths: dict[str, dict[str, Endpoint]] = {}
    direct: dict[tuple[str, str], _ApiEndpoint] = {}
    for route in routes:
        endpoint = _ApiEndpoint(route, state, callers, shares)
        paths.setdefault(route.path, {})[route.method] = endpoint
        if route.roles == {CallerRole.ENFORCE} and route.works is not True:  # whose callers have no limit
            direct[route.method, route.path] = endpoint

    def at_once(scope: Scope, headers: Mapping[bytes, bytes], body: bytes) -> Reply | None:
        endpoint = direct.get((scope["method"], scope["path"]))
        return endpoint.at_once(scope, headers, body) if endpoint is not None else None

    return RequestGuard(
        app=Router(paths, hint="; see `/openapi.json`"),
        metrics=state.metrics,
        hosts=service.hosts,
        public=[route.path for route in routes if route.method == "GET" and not route.roles],
        max_requests=state.limits.requests,
        max_body=state.limits.body,
        errors={route.path: route.error for route in routes},
        spans=RequestSpans(state.telemetry) if state.telemetry is not None else None,
        at_once=at_once,
    )


class _ApiEndpoint(Endpoint):
    """Serve one route: read the body, run the handler."""

    def __init__(self, route: ApiRoute, state: AppState, callers: Callers, shares: Shares) -> None:
        super().__init__(route.path, route.roles, callers, shares, error=route.error)
        self._route = route
        self._state = state
        self._read = _reader(route.takes) if route.takes else None
        most = state.limits.body
        self._longest = min(most, route.longest) if route.longest else most

    def at_once(self, scope: Scope, headers: Mapping[bytes, bytes], body: bytes) -> Reply | None:
        """Reply as `__call__` does, where nothing waits and nothing is wrong; else do nothing and return None."""
        if self._read is None or len(body) > min(_READ_AT_ONCE, self._longest) or b"authorization" not in headers:
            return None
        shown = {"authorization": headers[b"authorization"].decode("latin-1")}
        caller = self.callers.admit(shown, scope["client"][0] if scope["client"] else "")
        if (
            caller is None
            or self.roles.isdisjoint(caller.roles)
            or headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != JSON.encode()
        ):
            return None
        try:
            read = self._read(body)
        except Undecodable:
            return None
        call = HandlerCall(self._state, caller, read, scope)
        if self._waits(call) or _holds(self._route.works, call):
            return None
        scope["state"] |= {"route": self.path, "caller": caller.name}
        try:
            return self._route.handler(call)
        except Exception as e:
            return self.failure(e)

    async def answer(self, request: Request, caller: Caller) -> Reply:
        """Return the handler's reply, computed in a thread where that may take long or wait."""
        call = HandlerCall(self._state, caller, None, request.scope)
        if self._read is not None:
            data = await self._received(request)
            if len(data) > _READ_AT_ONCE:
                # A large body is work done as soon as it is parsed: parsed bodies that wait would fill the memory.
                call, reply = await self.shares.work(caller.name, self._read_and_work, call, data)
                if reply is not None:
                    return reply
            else:
                call = replace(call, body=self._parsed(data))
        if self._waits(call):
            return await self.shares.wait(caller.name, self._route.handler, call)
        return (
            await self.shares.work(caller.name, self._route.handler, call)
            if _holds(self._route.works, call)
            else self._route.handler(call)
        )

    def _read_and_work(self, call: HandlerCall, data: bytes) -> tuple[HandlerCall, Reply | None]:
        """Return the call with its body, and the reply unless that may wait."""
        call = replace(call, body=self._parsed(data))
        return call, None if self._waits(call) else self._route.handler(call)

    async def _received(self, request: Request) -> bytes:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            # A page of another site can make a browser send any type but JSON with the user's credentials.
            raise Refused(415, f"the body must be JSON, with `Content-Type: {JSON}`")
        try:
            return await _read(request, self._longest)
        except TimeoutError:
            raise Refused(408, "the request did not arrive in time") from None

    def _parsed(self, data: bytes) -> object:
        assert self._read is not None
        try:
            return self._read(data)
        except Undecodable as e:
            raise Refused(400, f"the body is not valid for `{self._route.path}`: {e}") from None

    def _waits(self, call: HandlerCall) -> bool:
        """Return true if the handler may wait, so that it needs a thread for that."""
        return self._state.authorizer.decider.has_decision_hooks or _holds(self._route.waits, call)


def _reader(takes: type) -> Callable[[bytes], object]:
    """Return the parser of a body for that struct; a struct with `read` parses it itself."""
    itself: Callable[[bytes], object] | None = getattr(takes, "read", None)
    decoder: msgspec.json.Decoder[object] = msgspec.json.Decoder(takes)
    return itself or partial(decode_strictly, form=decoder)


def _holds(said: bool | Callable[[HandlerCall], bool], call: HandlerCall) -> bool:
    return said if isinstance(said, bool) else said(call)


async def _read(request: Request, most: int) -> bytes:
    chunks, length = [], 0
    async for chunk in request.stream():
        length += len(chunk)
        if length > most:
            raise Refused(413, f"the body is longer than {most} bytes, the limit of this endpoint")
        chunks.append(chunk)
    return b"".join(chunks)
