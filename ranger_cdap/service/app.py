"""ASGI application of the decision service: one endpoint for all routes of the table."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from traceback import extract_tb
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ranger_cdap.errors import InvalidInput, NotReady
from ranger_cdap.service.api.routes import ApiRoute
from ranger_cdap.service.http.callers import Caller, Callers
from ranger_cdap.service.http.reply import JSON, Refused, Reply, coded_error
from ranger_cdap.service.http.request_guard import RequestGuard, send_reply
from ranger_cdap.service.http.request_spans import RequestSpans
from ranger_cdap.service.http.shares import Shares
from ranger_cdap.service.http.uploads import FORM, read_form, refuse_other_sites
from ranger_cdap.service.state.app_state import AppState
from ranger_cdap.service.state.call import NO_CALLER, HandlerCall
from ranger_cdap.service.wire.json_body import refuse_repeated_fields

_log = logging.getLogger(__name__)

# The rest of an unread body must not be taken for the next request.
_HEADERS: Final[Mapping[int, Mapping[str, str]]] = {
    408: {"connection": "close"},
    413: {"connection": "close"},
    429: {"retry-after": "1"},
    503: {"retry-after": "1"},
}
_READ_AT_ONCE: Final = 16_384
"""Largest body, in bytes, that the event loop's thread parses itself; a larger one would block all other requests."""
_TWICE: Final = "\0"


def create_app(state: AppState, callers: Callers, routes: Sequence[ApiRoute]) -> ASGIApp:
    """Return the application that serves the routes from the state."""
    shares = Shares(state.settings.service, state.limits.requests)
    paths: dict[str, dict[str, _Endpoint]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method] = _Endpoint(route, state, callers, shares)
    app = Starlette(
        routes=[Route(path, _Path(methods), methods=list(methods)) for path, methods in paths.items()],
        exception_handlers={HTTPException: _no_such_route, Exception: _failed},
    )
    app.router.redirect_slashes = False
    service = state.settings.service
    return RequestGuard(
        app,
        metrics=state.metrics,
        hosts=service.hosts,
        public=[route.path for route in routes if route.method == "GET" and not route.roles],
        max_requests=state.limits.requests,
        max_body=service.max_body,
        errors={route.path: route.error for route in routes},
        spans=RequestSpans(state.telemetry) if state.telemetry is not None else None,
    )


class _Path:
    """Endpoints of one path, by method."""

    def __init__(self, methods: Mapping[str, _Endpoint]) -> None:
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        await self._methods[method](scope, receive, send)


class _Endpoint:
    """Serve one route: authenticate the caller, check the role, read the body, run the handler."""

    def __init__(self, route: ApiRoute, state: AppState, callers: Callers, shares: Shares) -> None:
        self._route = route
        self._state = state
        self._callers = callers
        self._shares = shares
        self._read = _reader(route.takes) if route.takes else None
        most = state.settings.service.max_body
        self._longest = min(most, route.longest) if route.longest else most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._route
        request = Request(scope, receive)
        scope["state"]["route"] = route.path
        try:
            peer = request.client.host if request.client else ""
            caller = self._callers.admit(_sent_once(request.headers), peer) if route.roles else NO_CALLER
            who = caller.name if caller else ""
            scope["state"]["caller"] = who
            with self._shares.taking(who or peer):
                reply = await self._answer(request, self._allowed(caller))
        except Refused as refused:
            headers = _HEADERS.get(refused.status, {})
            if refused.status == 401:
                headers = {"www-authenticate": route.challenge}
            reply = replace(route.error(refused), headers=headers)
        except ClientDisconnect:
            return
        except Exception as e:
            _log_failure(route.path, e)
            reply = route.error(Refused(500, "Internal Server Error"))
        await send_reply(reply, send)

    def _allowed(self, caller: Caller | None) -> Caller:
        if caller is None:
            raise Refused(401, "Authentication required")
        if self._route.roles and self._route.roles.isdisjoint(caller.roles):
            raise Refused(403, f"{caller.name} is not authorized")
        return caller

    async def _answer(self, request: Request, caller: Caller) -> Reply:
        request_id = request.scope["state"]["request_id"]
        call = HandlerCall(self._state, caller, None, request, request_id)
        if self._read is not None:
            data = await self._received(request)
            if len(data) > _READ_AT_ONCE or self._route.accepts == FORM:
                # A large body is work done as soon as it is parsed: parsed bodies that wait would fill the memory.
                call, reply = await self._shares.work(caller.name, self._read_and_work, call, data)
                if reply is not None:
                    return reply
            else:
                call = replace(call, body=self._parsed(call, data))
        if self._waits(call):
            return await self._shares.wait(caller.name, self._handle, call)
        if _so(self._route.works, call):
            return await self._shares.work(caller.name, self._handle, call)
        return self._handle(call)

    def _read_and_work(self, call: HandlerCall, data: bytes) -> tuple[HandlerCall, Reply | None]:
        """Return the call with its body, and the reply unless that may wait."""
        call = replace(call, body=self._parsed(call, data))
        return call, None if self._waits(call) else self._handle(call)

    async def _received(self, request: Request) -> bytes:
        content_type = request.headers.get("content-type", "")
        if not _is_of_type(content_type, self._route.accepts):
            # A page of another site can make a browser send any type but JSON with the user's credentials.
            kind = "JSON" if self._route.accepts == JSON else "a form with a file"
            raise Refused(415, f"the body must be {kind}, with `Content-Type: {self._route.accepts}`")
        if self._route.accepts == FORM:
            refuse_other_sites(_sent_once(request.headers))
        try:
            return await _read(request, self._longest)
        except TimeoutError:
            raise Refused(408, "the request did not arrive in time") from None

    def _parsed(self, call: HandlerCall, data: bytes) -> object:
        assert self._read is not None
        try:
            if self._route.accepts == FORM:
                return read_form(call.request.headers.get("content-type", ""), data)
            return self._read(data)
        except (msgspec.MsgspecError, ValueError, RecursionError) as e:
            raise Refused(
                400, f"the body is not valid for `{self._route.path}`: {' '.join(str(e).split())[:300]}"
            ) from None

    def _waits(self, call: HandlerCall) -> bool:
        """Return true if the handler may wait, so that it needs a thread for that."""
        return self._state.authorizer.decider.has_decision_hooks or _so(self._route.waits, call)

    def _handle(self, call: HandlerCall) -> Reply:
        try:
            return self._route.handler(call)
        except InvalidInput as e:
            raise Refused(400, str(e)) from None
        except NotReady as e:
            raise Refused(503, str(e)) from None


def _reader(takes: type) -> Callable[[bytes], object]:
    """Return the parser of a body for that struct; a struct with `read` parses it itself."""
    itself: Callable[[bytes], object] | None = getattr(takes, "read", None)
    decode: Callable[[bytes], object] = msgspec.json.Decoder(takes).decode

    def read(data: bytes) -> object:
        body: object = decode(data)
        refuse_repeated_fields(data)
        return body

    return itself or read


def _so(said: bool | Callable[[HandlerCall], bool], call: HandlerCall) -> bool:
    return said if isinstance(said, bool) else said(call)


def _is_of_type(content_type: str, accepted: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == accepted


def _sent_once(headers: Headers) -> Mapping[str, str]:
    """Return the headers; one sent twice is dropped, since a proxy may have added the second."""
    names = [name for name, _ in headers.raw]
    if len(set(names)) == len(names):
        return headers
    return {name: headers[name] if len(headers.getlist(name)) == 1 else _TWICE for name in headers}


async def _read(request: Request, most: int) -> bytes:
    chunks, length = [], 0
    async for chunk in request.stream():
        length += len(chunk)
        if length > most:
            raise Refused(413, f"the body is longer than {most} bytes, the limit of this endpoint")
        chunks.append(chunk)
    return b"".join(chunks)


async def _no_such_route(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    reply = coded_error(Refused(status, "not found; see `/openapi.json`"))
    return _response(replace(reply, headers=getattr(error, "headers", None) or {}))


async def _failed(request: Request, error: Exception) -> Response:
    _log_failure(request.scope["state"].get("route", "a request"), error)
    return _response(coded_error(Refused(500, "Internal Server Error")))


def _log_failure(what: str, error: Exception) -> None:
    """Log the place of a failure; the error's message may contain request data, or worse."""
    places = (f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(extract_tb(error.__traceback__)))
    _log.error("%s failed with %s at %s", what, type(error).__name__, " < ".join(places))


def _response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, dict(reply.headers), reply.content_type)
