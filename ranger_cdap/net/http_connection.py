"""`HttpConnection`: HTTP/1.1 on one connection, within bounds of time and memory."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from ranger_cdap.net.doorkeeper import Address
from ranger_cdap.net.http_exchange import HttpExchange, bare_answer
from ranger_cdap.net.http_request import LONGEST_HEAD, BadRequest, RequestReader

if TYPE_CHECKING:
    from ranger_cdap.net.asgi_server import AsgiServer

READ_AT_ONCE: Final = 16_384
"""Bytes read of a connection in one turn of the event loop."""
GIVES_WAY: Final = 2_048
"""Bytes after which a connection is not read again before the others; nearly every check is shorter."""
_PAUSE_SECONDS: Final = 1.0
_FAREWELL_SECONDS: Final = 0.2
_LINGER_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of a connection.

    Args:
        longest_body: in bytes.
        request_seconds: from the opening of the connection, later from the first byte of a request, to its last.
        idle_seconds: without a request, and for a client that does not read its answer.
        stop_seconds: for the answers in progress when the server stops.
    """

    longest_body: int
    request_seconds: float
    idle_seconds: float
    stop_seconds: float


class _Waits(Enum):
    """Event that a connection waits for, at most until its timer ends."""

    REQUEST = auto()
    ANSWER = auto()
    """Without a timer: how long an answer takes is the application's affair."""
    READER = auto()
    """The peer must read its answer before it is heard again."""
    NEXT = auto()
    END = auto()
    """What still comes is dropped, so that the peer may read its answer before the connection ends."""


class HttpConnection(asyncio.BufferedProtocol):
    """One connection: one request at a time is answered, and a second one may have come meanwhile.

    Laws: a connection ends when the time of what it waits for has passed, whatever comes; while a request is answered
    nothing is read; who sends more than one request ahead is closed after the answers to the first ones.
    """

    def __init__(self, serving: AsgiServer) -> None:
        self._serving = serving
        self._reader = RequestReader(serving.limits.longest_body)
        self._exchange: HttpExchange | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ends_at = math.inf
        self._waits = _Waits.REQUEST
        self._refusal: BadRequest | None = None
        self._ends = self._must_drain = self._gives_way = False
        self._hears = True
        self._transport: asyncio.Transport
        self._scope: dict[str, Any] = {}
        self._address: Address = ()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for a first request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._address = transport.get_extra_info("peername") or ()
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "scheme": "https" if transport.get_extra_info("ssl_object") is not None else "http",
            "client": (str(self._address[0]), int(self._address[1])) if self._address else None,
            "server": (transport.get_extra_info("sockname") or ("", 0))[:2],
            "root_path": "",
        }
        self._wait(_Waits.REQUEST, self._serving.limits.request_seconds)
        self._serving.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection; an answer in progress goes nowhere."""
        if self._timer is not None:
            self._timer.cancel()
        self._serving.closed(self)
        if self._exchange is not None:
            self._exchange.client_is_gone()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where the next bytes are written."""
        return self._serving.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Read what came; after the end it is dropped."""
        if nbytes >= GIVES_WAY:
            self._gives_way = True
            self._transport.pause_reading()
            self._serving.give_way(self)
        if self._waits is _Waits.END or self._refusal is not None:
            return
        had = self._reader.has_begun
        try:
            self._reader.feed(self._serving.buffer[:nbytes])
        except BadRequest as refusal:
            self._refusal = refusal
        if self._waits is _Waits.NEXT and self._reader.has_begun and not had:
            self._wait(_Waits.REQUEST, self._serving.limits.request_seconds)
        self._go_on()

    def eof_received(self) -> bool:
        """Let a whole request be answered, if the transport can still write; end everything else."""
        self._ends = True
        return self._scope["scheme"] != "https" and self._exchange is not None and self._exchange.incoming.complete

    def pause_writing(self) -> None:
        """Hear no more of a peer that does not read."""
        self._must_drain = True

    def resume_writing(self) -> None:
        """Hear the peer again."""
        self._must_drain = False
        if self._waits is _Waits.READER:
            self._next()

    # What an exchange calls.

    def write(self, data: bytes) -> None:
        """Send bytes of an answer."""
        if not self._transport.is_closing():
            self._transport.write(data)

    def content_taken(self) -> None:
        """Read on if the request goes on."""
        if self._exchange is not None and not self._exchange.incoming.complete:
            self._hear()

    def answered(self, exchange: HttpExchange) -> None:
        """Go on with the next request, or end."""
        self._task = None
        self._serving.doorkeeper.idle(self._address)
        if not self._transport.is_closing():
            self._finish(exchange)

    def _finish(self, exchange: HttpExchange) -> None:
        """Go on after an answer; if the request has not come whole, its rest is dropped first, within its bounds."""
        incoming = exchange.incoming
        if incoming.keeps_alive and not (incoming.complete or self._ends or self._refusal is not None):
            incoming.content.clear()
            self._hear()
            return
        self._reader.requests.pop(0)
        self._exchange = None
        if self._refusal is not None and not (incoming.complete or exchange.status):
            self._refuse(self._refusal)
        elif not incoming.complete or (self._refusal is not None and not incoming.keeps_alive):
            self._linger()
        elif self._ends or not incoming.keeps_alive:
            self._close()
        elif exchange.status == HTTPStatus.TOO_MANY_REQUESTS:
            # A client told to retry in a second is not heard before: a refusal takes nearly as long as an answer.
            self._wait(_Waits.READER, self._serving.limits.idle_seconds)
            asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self._next)
        else:
            self._next()

    # What the server calls.

    def stop(self) -> None:
        """End after the answer in progress."""
        self._ends = True
        if self._exchange is None:
            self._close()
        elif self._task is None:
            self._finish(self._exchange)

    def abort(self) -> None:
        """End at once."""
        self._transport.abort()

    def read_on(self) -> None:
        """Read again, if there is something to wait for."""
        self._gives_way = False
        if self._hears:
            self._hear()

    # One turn after another.

    def _hear(self) -> None:
        self._hears = True
        if not self._gives_way:
            self._transport.resume_reading()

    def _next(self) -> None:
        """Wait for the peer to read its answer, then for its next request."""
        if self._transport.is_closing() or self._waits is _Waits.END:
            return
        if self._must_drain:
            self._wait(_Waits.READER, self._serving.limits.idle_seconds)
            return
        if self._reader.has_begun or self._reader.requests:
            self._wait(_Waits.REQUEST, self._serving.limits.request_seconds)
        else:
            self._wait(_Waits.NEXT, self._serving.limits.idle_seconds)
        self._hear()
        self._go_on()

    def _go_on(self) -> None:
        """Answer the first request, or pass on what came of it; refuse what is none."""
        waiting, refusal = self._reader.requests, self._refusal
        if self._exchange is not None and self._task is None:
            self._finish(self._exchange)
            return
        if self._exchange is not None:
            self._exchange.came()
        elif waiting and (refusal is None or waiting[0].complete):
            self._answer()
        elif refusal is not None:
            self._refuse(refusal)
        if self._exchange is None:
            return
        incoming = self._exchange.incoming
        if incoming.complete:
            self._wait(_Waits.ANSWER)
            self._serving.doorkeeper.busy(self._address)
        elif refusal is not None:
            incoming.keeps_alive = False
            self._exchange.client_is_gone()
        if incoming.complete or refusal is not None or len(incoming.content) > LONGEST_HEAD:
            self._hears = False
            self._transport.pause_reading()

    def _answer(self) -> None:
        incoming = self._reader.requests[0]
        is_last = self._refusal is not None and len(self._reader.requests) == 1
        incoming.keeps_alive &= not is_last and self._serving.doorkeeper.may_stay(
            self._transport.get_extra_info("ssl_object")
        )
        self._exchange = HttpExchange(incoming, self, time.time)
        scope = {
            **self._scope,
            "http_version": incoming.version,
            "method": incoming.method,
            "path": incoming.path,
            "raw_path": incoming.raw_path,
            "query_string": incoming.query,
            "headers": incoming.fields,
            "state": {},
        }
        if incoming.complete:
            self._serving.doorkeeper.busy(self._address)
            if self._exchange.runs_at_once(self._serving.at_once, scope):
                return
        # The loop itself keeps no task alive.
        self._task = asyncio.get_running_loop().create_task(self._exchange.run(self._serving.app, scope))

    def _refuse(self, refusal: BadRequest) -> None:
        if refusal.status is not None:
            self.write(bare_answer(refusal.status))
        self._linger()

    def _linger(self) -> None:
        """Drop what still comes, for a moment: closed at once, the peer might lose its answer."""
        self._wait(_Waits.END, _LINGER_SECONDS)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._hear()

    def _close(self) -> None:
        """Close when the answer is sent; TLS would wait for both sides to agree, and a peer may not be reading."""
        is_sent = self._transport.get_write_buffer_size() == 0
        self._wait(_Waits.END, _FAREWELL_SECONDS if is_sent else self._serving.limits.idle_seconds)
        self._transport.close()

    def _wait(self, waits: _Waits, seconds: float = math.inf) -> None:
        """Wait at most that long; a timer that ends earlier begins again, which is rarer than to wait."""
        self._waits = waits
        self._ends_at = asyncio.get_running_loop().time() + seconds
        if self._timer is None or self._timer.when() > self._ends_at:
            self._begin_timer()

    def _begin_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = (
            asyncio.get_running_loop().call_at(self._ends_at, self._timer_ended) if self._ends_at < math.inf else None
        )

    def _timer_ended(self) -> None:
        self._timer = None
        if self._ends_at > asyncio.get_running_loop().time():
            self._begin_timer()
        elif self._waits is _Waits.REQUEST and self._exchange is not None and self._exchange.is_late():
            self._wait(_Waits.END, _LINGER_SECONDS)
        elif self._waits is _Waits.END and not self._transport.is_closing():
            self._close()
        else:
            self.abort()
