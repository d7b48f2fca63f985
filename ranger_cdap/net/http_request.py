"""`RequestReader`: the requests in the bytes of one connection, within bounds. Without sockets and clocks."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote

import httptools

LONGEST_HEAD: Final = 65_536
"""Longest request line with its fields, and longest run of bytes without content after it: browsers send far less."""
MOST_FIELDS: Final = 200
"""Fields of a head; proxies and browsers send some thirty."""


class BadRequest(Exception):
    """Bytes that are no request within the bounds; `status` is the answer, `None` for a request too many."""

    def __init__(self, status: HTTPStatus | None) -> None:
        super().__init__(status)
        self.status = status


@dataclass(slots=True)
class Incoming:
    """One request as far as it has come: `path` is decoded, `fields` have lower-case names and end with the head."""

    method: str
    path: str
    raw_path: bytes
    query: bytes
    version: str
    fields: list[tuple[bytes, bytes]]
    keeps_alive: bool
    content: bytearray
    complete: bool = False

    @property
    def expects_continue(self) -> bool:
        """Return true if the client sends the body after a `100 Continue`."""
        return self.version != "1.0" and (b"expect", b"100-continue") in (
            (name, value.lower()) for name, value in self.fields
        )


class RequestReader:
    """Requests of a connection, each with its bounds in bytes.

    Laws: only the head has fields, what follows it is content or is dropped (RFC 9110 §6.5.1); a head, and whatever
    else comes without content, is at most `LONGEST_HEAD` long; a request is at most that and twice `longest_body`; at
    most one request is read ahead of the one in progress.
    """

    def __init__(self, longest_body: int) -> None:
        self._most = LONGEST_HEAD + 2 * longest_body
        self._parser = httptools.HttpRequestParser(self)
        self.requests: list[Incoming] = []
        """That in progress, and perhaps one ahead; the owner removes the first once it is answered."""
        self._target = b""
        self._fields: list[tuple[bytes, bytes]] = []
        self._in_head = True
        self.has_begun = False
        """Whether a request has begun and not ended."""
        self._bytes = 0
        self._bytes_without_content = 0

    def feed(self, data: bytes | memoryview) -> None:
        """Read more bytes.

        Raises:
            BadRequest: they are no request within the bounds; nothing may be fed after it.
        """
        self._bytes += len(data)
        self._bytes_without_content += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as e:
            raise e.__context__ if isinstance(e.__context__, BadRequest) else BadRequest(HTTPStatus.BAD_REQUEST) from e
        except httptools.HttpParserUpgrade:
            # Whatever protocol the client would like to speak next, it gets an answer in this one, and an end.
            self.requests[-1].keeps_alive = False
        except httptools.HttpParserError as e:
            raise BadRequest(HTTPStatus.BAD_REQUEST) from e
        if self._bytes_without_content > LONGEST_HEAD:
            raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if self._bytes > self._most:
            raise BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    def on_message_begin(self) -> None:
        """Begin a request; called by the parser, as the following ones."""
        if len(self.requests) > 1:
            raise BadRequest(None)
        self._target, self._fields, self._in_head, self.has_begun = b"", [], True, True
        self._bytes = self._bytes_without_content = 0

    def on_url(self, piece: bytes) -> None:
        """Add a piece of the request's target."""
        self._target += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a field of the head; those of the trailer section are dropped."""
        if not self._in_head:
            return
        if len(self._fields) == MOST_FIELDS:
            raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        self._fields.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """End the head."""
        self._in_head = False
        self._bytes_without_content = 0
        try:
            target = httptools.parse_url(self._target)
            path = target.path or b"/"
            decoded = path.decode("ascii")
        except (httptools.HttpParserInvalidURLError, UnicodeDecodeError):
            raise BadRequest(HTTPStatus.BAD_REQUEST) from None
        version = self._parser.get_http_version()
        self.requests.append(
            Incoming(
                self._parser.get_method().decode("ascii"),
                unquote(decoded) if "%" in decoded else decoded,
                path,
                target.query or b"",
                version,
                self._fields,
                version != "1.0" and self._parser.should_keep_alive(),
                bytearray(),
            )
        )

    def on_body(self, piece: bytes) -> None:
        """Add content."""
        self._bytes_without_content = 0
        self.requests[-1].content += piece

    def on_message_complete(self) -> None:
        """End the request."""
        self.requests[-1].complete = True
        self.has_begun = False
        self._bytes = self._bytes_without_content = 0
