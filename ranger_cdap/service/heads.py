"""Heads of requests are bounded in time and size: uvicorn waits for them for ever, and keeps whatever comes."""

from __future__ import annotations

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD: Final = 65_536
"""Bytes of a request line and its headers; what a browser or a proxy sends is far below."""


def bounded(seconds: float) -> type[HttpToolsProtocol]:
    """The protocol that closes a connection whose head has not come whole after that time, or is too long.

    The time counts from the opening of the connection, and later from the first letter of a request.
    """

    class Bounded(HttpToolsProtocol):
        """A connection."""

        _late: asyncio.TimerHandle | None = None
        _coming = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
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

        def _await_head(self) -> None:
            if self._late is None:
                self._coming = 0
                self._late = self.loop.call_later(seconds, self._give_up)

        def _head_came(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

        def _give_up(self) -> None:
            self._head_came()
            self.transport.abort()

    return Bounded
