"""A messaging service as CDAP's, on loopback; its Avro is written anew, by the specification."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

PATH = "/v1/namespaces/system/topics/audit/poll"


def encoded_long(number: int) -> bytes:
    zigzag = (number << 1) ^ (number >> 63)
    out = []
    while True:
        low, zigzag = zigzag & 0x7F, zigzag >> 7
        if not zigzag:
            return bytes([*out, low])
        out.append(low | 0x80)


def decoded_long(stream: io.BytesIO) -> int:
    result = shift = 0
    while True:
        (byte,) = stream.read(1)
        result |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return (result >> 1) ^ -(result & 1)


def decoded_request(body: bytes) -> tuple[bytes | int | None, bool, int]:
    """Where to start, whether with that message, and how many."""
    stream = io.BytesIO(body)
    branch = decoded_long(stream)
    start: bytes | int | None = None
    if branch == 0:
        start = stream.read(decoded_long(stream))
    elif branch == 1:
        start = decoded_long(stream)
    inclusive = stream.read(1) == b"\x01"
    assert decoded_long(stream) == 0
    limit = decoded_long(stream)
    assert decoded_long(stream) == 1
    assert not stream.read()
    return start, inclusive, limit


def encoded_messages(messages: Iterable[tuple[bytes, bytes]]) -> bytes:
    blocks = [encoded_long(1) + b"".join(encoded_long(len(part)) + part for part in message) for message in messages]
    return b"".join(blocks) + b"\x00"


def message_id(published: int, sequence: int = 0) -> bytes:
    """24 bytes that begin with the time, as CDAP's."""
    return published.to_bytes(8, "big") + sequence.to_bytes(2, "big") + bytes(14)


@dataclass
class MessagingService:
    """Holds messages in the order of their ids; `fault` is what it does instead of answering."""

    url: str = ""
    stored: list[tuple[bytes, bytes]] = field(default_factory=list)
    fault: str = ""
    polls: list[tuple[bytes | int | None, bool, int]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def publish(self, payload: str | bytes, published: int) -> bytes:
        data = payload.encode() if isinstance(payload, str) else payload
        name = message_id(published, len(self.stored))
        self.stored.append((name, data))
        return name

    def page(self, start: bytes | int | None, limit: int) -> list[tuple[bytes, bytes]]:
        if isinstance(start, bytes):
            kept = [message for message in self.stored if message[0] > start]
        elif start is not None:
            kept = [message for message in self.stored if int.from_bytes(message[0][:8], "big") >= start]
        else:
            kept = self.stored
        return kept[:limit]


@contextmanager
def messaging_service() -> Iterator[MessagingService]:
    service = MessagingService()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            service.headers.append(dict(self.headers))
            match service.fault:
                case "slow":
                    time.sleep(2)
                    self._answer(200, b"\x00")
                case "garbage":
                    self._answer(200, b"<html>not Avro</html>")
                case "500":
                    self._answer(500, b"secret stack trace")
                case "redirect":
                    self.send_response(302)
                    self.send_header("Location", f"{service.url}/elsewhere")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                case _ if self.path != PATH or self.headers["Content-Type"] != "avro/binary":
                    self._answer(404, b"")
                case _:
                    start, inclusive, limit = decoded_request(body)
                    service.polls.append((start, inclusive, limit))
                    self._answer(200, encoded_messages(service.page(start, limit)))

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
