"""The decision service as an ASGI application: one endpoint for all rows of the table."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ranger_cdap.errors import InvalidInput, NotReady
from ranger_cdap.service.call import NOBODY, Call
from ranger_cdap.service.callers import Caller, Callers
from ranger_cdap.service.desk import Desk
from ranger_cdap.service.gate import Gate, send_reply, too_long
from ranger_cdap.service.reply import Refused, Reply, coded_error
from ranger_cdap.service.routes import Row

_log = logging.getLogger(__name__)

_BODY_NOT_READ = (408, 413)


def create_app(desk: Desk, callers: Callers, rows: Sequence[Row]) -> ASGIApp:
    """The application that answers the rows of the table from the desk."""
    app = Starlette(
        routes=[Route(row.path, _Endpoint(row, desk, callers), methods=[row.method]) for row in rows],
        exception_handlers={HTTPException: _no_such_route, Exception: _failed},
    )
    app.router.redirect_slashes = False
    service = desk.settings.service
    return Gate(
        app,
        metrics=desk.metrics,
        hosts=service.hosts,
        max_requests=service.max_requests,
        max_body=service.max_body,
    )


class _Endpoint:
    """One row: who asks, may he, what did he send, and the handler."""

    def __init__(self, row: Row, desk: Desk, callers: Callers) -> None:
        self._row = row
        self._desk = desk
        self._callers = callers
        self._decoder: msgspec.json.Decoder[object] | None = msgspec.json.Decoder(row.takes) if row.takes else None
        self._waits = row.waits or desk.authorizer.asks_hooks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        row = self._row
        request = Request(scope, receive)
        scope["state"]["route"] = row.path
        try:
            caller = self._admit(request)
            scope["state"]["caller"] = caller.name
            body = await self._body(request)
            call = Call(self._desk, caller, body, dict(request.query_params), scope["state"]["request_id"])
            reply = await run_in_threadpool(self._handle, call) if self._waits else self._handle(call)
        except Refused as refused:
            reply = row.error(refused)
            if refused.status == 401:
                reply = replace(reply, headers={"www-authenticate": row.challenge})
            elif refused.status in _BODY_NOT_READ:
                reply = replace(reply, headers={"connection": "close"})
        except ClientDisconnect:
            return
        await send_reply(reply, send)

    def _admit(self, request: Request) -> Caller:
        if not self._row.roles:
            return NOBODY
        caller = self._callers.admit(request.headers, request.client.host if request.client else None)
        if caller is None:
            raise Refused(401, "Authentication required")
        if self._row.roles.isdisjoint(caller.roles):
            raise Refused(403, f"{caller.name} is not authorized")
        return caller

    async def _body(self, request: Request) -> object:
        if self._decoder is None:
            return None
        service = self._desk.settings.service
        try:
            async with asyncio.timeout(service.body_timeout):
                data = await _read(request, service.max_body)
        except TimeoutError:
            raise Refused(408, "the body did not come in time") from None
        try:
            return self._decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as e:
            raise Refused(
                400, f"the body is not what `{self._row.path}` takes: {' '.join(str(e).split())[:300]}"
            ) from None

    def _handle(self, call: Call) -> Reply:
        try:
            return self._row.handler(call)
        except InvalidInput as e:
            raise Refused(400, str(e)) from None
        except NotReady as e:
            raise Refused(503, str(e)) from None


async def _read(request: Request, most: int) -> bytes:
    chunks, length = [], 0
    async for chunk in request.stream():
        length += len(chunk)
        if length > most:
            raise too_long(most)
        chunks.append(chunk)
    return b"".join(chunks)


async def _no_such_route(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return _response(coded_error(Refused(status, "there is nothing here; see `/openapi.json`")))


async def _failed(request: Request, error: Exception) -> Response:
    _log.error("%s failed with %s", request.scope["state"].get("route", "a request"), type(error).__name__)
    return _response(coded_error(Refused(500, "Internal Server Error")))


def _response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, media_type=reply.content_type)
