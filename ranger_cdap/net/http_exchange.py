"""`HttpExchange`: one request and its answer, as an ASGI application receives and sends them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, TypeAlias

from ranger_cdap.net.http_request import Incoming

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Scope

    from ranger_cdap.net.http_connection import HttpConnection

_log = logging.getLogger(__name__)

Whole: TypeAlias = tuple[int, list[tuple[bytes, bytes]], bytes]
"""Status, fields and content of an answer."""
AtOnce: TypeAlias = "Callable[[Scope, bytes], Whole | None]"

_WITHOUT_CONTENT = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})


class HttpExchange:
    """One request with its answer; for use by the event loop's thread only.

    An answer without `Content-Length` ends with the connection.
    """

    __slots__ = ("_client_is_gone", "_has_all", "_head", "_is_late", "_news", "_now", "_wire", "incoming", "status")

    def __init__(self, incoming: Incoming, wire: HttpConnection, wall_clock: Callable[[], float]) -> None:
        self.incoming = incoming
        self.status = 0
        self._wire = wire
        self._now = wall_clock
        self._news: asyncio.Future[None] | None = None
        self._head = b""
        self._client_is_gone = self._is_late = self._has_all = False

    async def run(self, app: ASGIApp, scope: dict[str, Any]) -> None:
        """Let the application answer; if it fails before it began, the answer is 500 without a word."""
        try:
            await app(scope, self.receive, self.send)
        except Exception as e:
            self._fail(e)
        self._wire.answered(self)

    def runs_at_once(self, at_once: AtOnce, scope: dict[str, Any]) -> bool:
        """Let that answer the whole request, as `run` does; false if only the application can."""
        try:
            answer = at_once(scope, bytes(self.incoming.content))
            if answer is None:
                return False
            status, fields, content = answer
            self._begin(status, fields)
            self._wire.write(self._head + content)
        except Exception as e:
            self._fail(e)
        self._wire.answered(self)
        return True

    def _fail(self, error: Exception) -> None:
        # The message may contain what the client sent, or worse.
        last = extract_tb(error.__traceback__)[-1]
        _log.error("a request failed with %s at %s:%s", type(error).__name__, last.filename, last.lineno)
        self.incoming.keeps_alive = False
        if self._head or not self.status:
            self._wire.write(bare_answer(HTTPStatus.INTERNAL_SERVER_ERROR))

    async def receive(self) -> Message:
        """Return the content that has come since the last call, when there is some.

        Raises:
            TimeoutError: the request did not come whole in time.
        """
        incoming = self.incoming
        if not (incoming.complete or incoming.content or self.status) and incoming.expects_continue:
            self._wire.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while self._has_all or not (incoming.content or incoming.complete):
            if self._client_is_gone:
                return {"type": "http.disconnect"}
            if self._is_late:
                raise TimeoutError
            await self._until_news()
        content = bytes(incoming.content)
        incoming.content.clear()
        self._has_all = incoming.complete
        self._wire.content_taken()
        return {"type": "http.request", "body": content, "more_body": not incoming.complete}

    async def _until_news(self) -> None:
        self._news = asyncio.get_running_loop().create_future()
        await self._news

    def came(self) -> None:
        """Tell that content has come, or the end of the request."""
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def is_late(self) -> bool:
        """Tell that the request did not come in time; false if the application does not wait for it."""
        self._is_late = True
        waits = self._news is not None and not self._news.done()
        self.came()
        return waits

    def client_is_gone(self) -> None:
        """Tell that the client does not wait for an answer any more."""
        self._client_is_gone = True
        self.came()

    async def send(self, message: Message) -> None:
        """Send a part of the answer: its head, with the first piece of its content, or another piece."""
        if message["type"] == "http.response.start":
            self._begin(message["status"], message["headers"])
            return
        has_content = self.incoming.method != "HEAD" and self.status not in _WITHOUT_CONTENT
        self._wire.write(self._head + (message.get("body", b"") if has_content else b""))
        self._head = b""

    def _begin(self, status: int, fields: Iterable[tuple[bytes, bytes]]) -> None:
        self.status = status
        lines = [_status_line(status), b"date: " + _date(int(self._now()))]
        has_length = status in _WITHOUT_CONTENT
        for name, value in fields:
            if name == b"connection":
                self.incoming.keeps_alive &= value.lower() != b"close"
                continue
            has_length |= name == b"content-length"
            lines.append(name + b": " + value)
        # A client that was to wait for `100 Continue` may send its content after this answer, or may not.
        self.incoming.keeps_alive &= has_length and (self.incoming.complete or not self.incoming.expects_continue)
        if not self.incoming.keeps_alive:
            lines.append(b"connection: close")
        head = b"\r\n".join((*lines, b"\r\n"))
        if head.count(b"\n") != len(lines) + 1:
            raise ValueError("a field of the answer has two lines")
        self._head = head


def bare_answer(status: HTTPStatus) -> bytes:
    """Return a whole answer without content, after which the connection is closed."""
    return _status_line(status) + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@lru_cache(maxsize=64)
def _status_line(status: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {int(status)} {phrase}".encode("ascii")


@lru_cache(maxsize=2)
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode("ascii")
