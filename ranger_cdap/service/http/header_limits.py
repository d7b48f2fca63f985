"""Limits on the time and size of request headers: uvicorn waits for them without limit, and keeps all of them.

Connections report when they have a whole request to answer, so that the others, which wait for their peers, are closed
if there are too many. A connection made with certificates that have changed since ends with its next response.
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
"""Longest request line with headers, in bytes; browsers and proxies send far less."""


class _Bounded(HttpToolsProtocol):
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
        super().on_headers_complete()
        if self.tls is None or self.cycle is None:
            return
        if not self.tls.has_made(self.transport.get_extra_info("ssl_object")):
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._count()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._count()
        if self.scope["state"].get("status") == HTTPStatus.TOO_MANY_REQUESTS:
            # A client told to retry in a second is not heard before: a refusal takes nearly as long as an answer.
            self.flow.pause_reading()
            self.loop.call_later(_PAUSE_SECONDS, self.flow.resume_reading)

    def _count(self) -> None:
        """Count as busy while there is a whole request to answer; until then the peer is who lets others wait."""
        if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            self.open_ones.idle(self._address)
        else:
            self.open_ones.busy(self._address)

    def shutdown(self) -> None:
        super().shutdown()
        if self.transport.is_closing():
            # TLS closes when both sides agree, and an idle client may not be reading.
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
    """Return the protocol that closes a connection if its headers are incomplete after `seconds`, or too long.

    The time counts from the opening of the connection, and later from the first byte of a request.
    """
    return type("Bounded", (_Bounded,), {"seconds": seconds, "open_ones": connections, "tls": tls})
