"""ASGI application of the embedded Ranger Admin; each handler runs in one transaction."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.request_guard import MAX_BODY_BYTES, refuse_early, refuse_media
from ranger_cdap.testing.admin.api.routes import ROUTES, Access, Row
from ranger_cdap.testing.admin.api.sign_in import LoginThrottle, basic_credentials
from ranger_cdap.testing.admin.model.responses import (
    NOT_AUTHENTICATED,
    SESSION_TIMEOUT,
    Refusal,
    ServerResponse,
    page,
    refuse,
)
from ranger_cdap.testing.admin.store.principals import Login
from ranger_cdap.testing.admin.store.store import Store

_log = logging.getLogger(__name__)
Clock = Callable[[], int]


def epoch_ms() -> int:
    """Return the current time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def create_app(store: Store, *, clock: Clock = epoch_ms, policy_deltas: bool = False) -> Starlette:
    """Create the application over a store that `bootstrap.prepare` has initialized."""
    state = _ServerState(store, clock, policy_deltas)
    app = Starlette(
        routes=[Route(row.path, _endpoint(row, state), methods=[row.method]) for row in ROUTES],
        exception_handlers={HTTPException: state.no_such_route, sqlite3.Error: _database_failed, Exception: _failed},
    )
    app.router.redirect_slashes = False
    app.add_middleware(_EarlyRejection)
    return app


@dataclass(frozen=True, slots=True)
class _ServerState:
    """Authentication of callers and execution of handlers."""

    _store: Store
    _clock: Clock
    _policy_deltas: bool
    _throttle: LoginThrottle = field(default_factory=LoginThrottle)

    def sign_in(self, request: Request) -> Login | ServerResponse:
        """Return the caller, or the reason for rejecting the request."""
        credentials = basic_credentials(request.headers.get("authorization", ""))
        if credentials is None:
            ajax = request.headers.get("x-requested-with", "").lower() == "xmlhttprequest"
            return SESSION_TIMEOUT if ajax else NOT_AUTHENTICATED
        name, password = credentials
        with self._store.transaction() as tables:
            login = tables.principals.login(name)
        admitted = self._throttle.accepts(login, password, self._clock())
        return login if login is not None and admitted else NOT_AUTHENTICATED

    def admit(self, row: Row, request: Request) -> Login | ServerResponse:
        """Return the caller, or the rejection if they may not use this route; the body is not read for that."""
        if row.access is Access.UNSECURED:
            return refuse("Unauthenticated access not allowed", code=row.code).response
        caller = self.sign_in(request)
        if isinstance(caller, ServerResponse):
            return caller
        if row.access is Access.ADMIN_PAGE and not caller.is_admin:
            return page(403, "Access denied")
        if row.access is Access.ADMIN and not caller.is_admin:
            return refuse("User is not allowed to access the API", status=403).response
        return refuse_media(request.method, request.headers) or caller

    def handle(self, row: Row, caller: Login, request: Request, body: bytes) -> ServerResponse:
        """Run the handler in one transaction and return its response."""
        if row.handler is None:
            return ServerResponse(404)
        try:
            with self._store.transaction() as tables:
                query = dict(request.query_params)
                path, now = request.path_params, self._clock()
                return row.handler(AdminCall(tables, caller, path, query, body, now, self._policy_deltas))
        except Refusal as refusal:
            return refusal.response

    async def no_such_route(self, request: Request, error: Exception) -> Response:
        """Return 404 or 405 without a body; unauthenticated callers learn nothing about paths."""
        status = error.status_code if isinstance(error, HTTPException) else 404
        caller = await run_in_threadpool(self.sign_in, request)
        return _to_http(caller if isinstance(caller, ServerResponse) else ServerResponse(status))


def _endpoint(row: Row, state: _ServerState) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        caller = await run_in_threadpool(state.admit, row, request)
        if isinstance(caller, ServerResponse):
            return _to_http(caller)
        body = await _body(request)
        if body is None:
            return _to_http(ServerResponse(413), close=True)
        return _to_http(await run_in_threadpool(state.handle, row, caller, request, body))

    return endpoint


async def _body(request: Request) -> bytes | None:
    """Return the body, or `None` if it exceeds the limit."""
    chunks, length = [], 0
    try:
        async for chunk in request.stream():
            length += len(chunk)
            if length > MAX_BODY_BYTES:
                return None
            chunks.append(chunk)
    except ClientDisconnect:
        return b""
    return b"".join(chunks)


def _to_http(response: ServerResponse, *, close: bool = False) -> Response:
    headers = {"connection": "close"} if close or response.status == 400 else {}
    sent = Response(response.body, response.status, headers)
    if response.content_type is not None:
        sent.headers["content-type"] = response.content_type
    return sent


async def _database_failed(request: Request, error: Exception) -> Response:
    _log.error("the database of the embedded Ranger Admin failed: %s", error)
    return _to_http(page(500, "Internal Server Error"), close=True)


async def _failed(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed: %s", request.method, request.url.path, type(error).__name__)
    return _to_http(page(500, "Internal Server Error"), close=True)


@dataclass(frozen=True, slots=True)
class _EarlyRejection:
    """Middleware that rejects malformed requests before routing and strips a trailing slash, which Ranger allows."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        refused = refuse_early(scope["method"], scope.get("raw_path") or scope["path"].encode(), headers)
        if refused is not None:
            await _to_http(refused)(scope, receive, send)
            return
        if scope["path"].endswith("/") and scope["path"] != "/":
            scope = {**scope, "path": scope["path"][:-1]}
        await self.app(scope, receive, send)
