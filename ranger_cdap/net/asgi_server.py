"""`AsgiServer`: an ASGI application on a listening socket, until it is stopped."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ranger_cdap.net.doorkeeper import Doorkeeper
from ranger_cdap.net.http_connection import READ_AT_ONCE, ConnectionLimits, HttpConnection

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from ranger_cdap.net.http_exchange import AtOnce

_BACKLOG: Final = 128
ACCEPTED_AT_ONCE: Final = 16
"""Connections accepted in one turn of the event loop."""


@dataclass(eq=False)
class AsgiServer:
    """Server that finishes the requests in progress when it stops.

    `at_once` answers a request that has come whole without waiting for anything, exactly as `app` would; None if only
    the application can. It is called first, with the scope and the content, and may note nothing where it returns None.
    `buffer` has the bytes just read; it is used in one turn of the event loop, so one serves all connections.

    Laws: who connects and says nothing, or whose handshake is not over, delays no stop; in one turn of the event loop
    few connections are accepted, and one is read again of all that sent much.
    """

    app: ASGIApp
    limits: ConnectionLimits
    doorkeeper: Doorkeeper
    tls: ssl.SSLContext | None = None
    at_once: AtOnce = lambda _scope, _content: None
    buffer: memoryview = field(default_factory=lambda: memoryview(bytearray(READ_AT_ONCE)))
    _connections: set[HttpConnection] = field(default_factory=set)
    _giving_way: deque[HttpConnection] = field(default_factory=deque)
    _loop: asyncio.AbstractEventLoop | None = None
    _stops: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def run(self, listening: socket.socket) -> None:
        """Serve in this thread until `request_stop`."""
        asyncio.run(self.serve(listening))

    async def serve(self, listening: socket.socket) -> None:
        """Serve until `request_stop`; then close the port, and end the connections as they are answered."""
        self._loop = asyncio.get_running_loop()
        # What TLS alone does is part of a request's time.
        server = await self._loop.create_server(
            lambda: HttpConnection(self),
            sock=listening,
            backlog=ACCEPTED_AT_ONCE,
            ssl=self.tls,
            ssl_handshake_timeout=self.limits.request_seconds if self.tls else None,
        )
        listening.listen(_BACKLOG)
        try:
            while not self._stops:
                self._changed.clear()
                await self._changed.wait()
        finally:
            self._loop = None
            # To close the server first would leave open what asyncio has accepted and not looked at yet.
            asyncio.get_running_loop().remove_reader(listening)
            await _some_turns()
            server.close()
        await self._end_connections()

    def request_stop(self) -> None:
        """Let the server stop soon; safe in any thread, in a signal handler, and before it serves."""
        self._stops = True
        if (loop := self._loop) is not None:
            with suppress(RuntimeError):  # the loop has just ended
                loop.call_soon_threadsafe(self._changed.set)

    def opened(self, connection: HttpConnection) -> None:
        """Remember a connection; called by the connection."""
        self._connections.add(connection)
        if self._stops:
            connection.stop()

    def closed(self, connection: HttpConnection) -> None:
        """Forget a connection; called by the connection."""
        self._connections.discard(connection)
        self._changed.set()

    def give_way(self, connection: HttpConnection) -> None:
        """Let the connection read on when all others have, and those that gave way before it."""
        self._giving_way.append(connection)
        if len(self._giving_way) == 1:
            asyncio.get_running_loop().call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._giving_way.popleft().read_on()
        if self._giving_way:
            asyncio.get_running_loop().call_soon(self._next_turn)

    async def _end_connections(self) -> None:
        for connection in tuple(self._connections):
            connection.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.limits.stop_seconds):
                while self._connections:
                    self._changed.clear()
                    await self._changed.wait()
        for connection in tuple(self._connections):
            connection.abort()
        self.doorkeeper.end_all()
        await _some_turns()


async def _some_turns() -> None:
    """Let the event loop begin with what it has accepted, and let go of what has ended."""
    for _ in range(3):
        await asyncio.sleep(0)
