"""Heads of requests are bounded in time and size: uvicorn waits for them for ever, and keeps whatever comes.

What serves a request is told to the connections, which close idle ones where there are too many. A connection that was
made by certificates that have changed since ends with its next answer.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ranger_cdap.service.http.connections import Address, Connections
from ranger_cdap.service.http.server_tls import ServerTls

_PAUSE_SECONDS: Final = 1.0
_FAREWELL_SECONDS: Final = 0.2
LONGEST_HEAD: Final = 65_536
"""Bytes of a request line and its headers; what a browser or a proxy sends is far below."""


class _Bounded(HttpToolsProtocol):
    """A connection."""

    seconds: ClassVar[float]
    open_ones: ClassVar[Connections]
    tls: ClassVar[ServerTls | None]

    _late: asyncio.TimerHandle | None = None
    _coming = 0
    _address: Address = ()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = transport.get_extra_info("peername") or ()
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._coming += len(data)
        super().data_received(data)
        if self._late is not None and self._coming > LONGEST_HEAD:
            self._give_up()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        self._head_came()
        self.open_ones.busy(self._address)
        super().on_headers_complete()
        if self.tls is None or self.cycle is None:
            return
        if not self.tls.has_made(self.transport.get_extra_info("ssl_object")):
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        self.open_ones.idle(self._address)
        super().on_response_complete()
        if self.scope["state"].get("status") == HTTPStatus.TOO_MANY_REQUESTS:
            # Whoever is told to come back in a second is not heard before: to refuse takes nearly as long as to answer.
            self.flow.pause_reading()
            self.loop.call_later(_PAUSE_SECONDS, self.flow.resume_reading)

    def shutdown(self) -> None:
        super().shutdown()
        if self.transport.is_closing():
            # TLS closes when both sides say so, and a client that asks nothing may not be reading.
            self.loop.call_later(_FAREWELL_SECONDS, self.transport.abort)

    def _await_head(self) -> None:
        if self._late is None:
            self._coming = 0
            self._late = self.loop.call_later(self.seconds, self._give_up)

    def _head_came(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._head_came()
        self.transport.abort()


def bounded(seconds: float, connections: Connections, tls: ServerTls | None) -> type[HttpToolsProtocol]:
    """The protocol that closes a connection whose head has not come whole after that time, or is too long.

    The time counts from the opening of the connection, and later from the first letter of a request.
    """
    return type("Bounded", (_Bounded,), {"seconds": seconds, "open_ones": connections, "tls": tls})
