"""A decision service that answers what a test says, also what no decent service would answer."""

from __future__ import annotations

import json
import socket
import socketserver
import ssl
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Any

Json = dict[str, Any]

HELLO: Json = {
    "version": "0.1.0",
    "instance": "cdap",
    "profile": "default",
    "enforcement": "everything is enforced",
    "state": "fresh",
    "grants": "refuse",
    "differences": [],
    "generation": "g1",
}
ALLOWED: Json = {
    "allowed": True,
    "enforced": True,
    "reason": "",
    "missing": [],
    "cacheable": False,
    "generation": "g1",
}
DENIED: Json = ALLOWED | {
    "allowed": False,
    "reason": "alice needs WRITE on namespace ns1",
    "missing": ["WRITE on namespace:ns1"],
}


@dataclass(frozen=True)
class Reply:
    """One answer; `cut` leaves out the last bytes and closes, `hangs` never answers, `drops` closes at once.

    `raw` is sent as it is, instead of all that, and the connection closed if it is also `cut`.
    """

    body: Json | bytes | str = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    hangs: bool = False
    drops: bool = False
    raw: bytes = b""

    def as_bytes(self) -> bytes:
        if self.raw:
            return self.raw
        body = json.dumps(self.body) if isinstance(self.body, dict) else self.body
        content = body.encode() if isinstance(body, str) else body
        headers = {"Content-Type": "application/json", "Content-Length": str(len(content)), **self.headers}
        head = f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        whole = head.encode() + b"\r\n" + content
        return whole[:-1] if self.cut else whole


def impatient(properties: dict[str, str], reply: Reply) -> dict[str, str]:
    """The same settings, but with little time to wait where nothing is answered."""
    return properties | {"read.timeout.ms": "400"} if reply.hangs else properties


@dataclass(frozen=True)
class Asked:
    """One request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: Json
    connection: int


class ScriptedService(AbstractContextManager["ScriptedService"]):
    """Says hello, and else gives the next answer of the script, one for each request, or what `decides` says."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.tls = tls
        self.hello = Reply(HELLO)
        self.hellos: list[Asked] = []
        self.asked: list[Asked] = []
        self.decides: Callable[[Asked], Json] | None = None
        self.connections = 0
        self.port = 0
        self._script: deque[Reply] = deque()
        self._released = threading.Event()
        self._open: list[socket.socket] = []
        self._server: socketserver.ThreadingTCPServer | None = None
        self.listen()

    @property
    def url(self) -> str:
        return f"http{'s' * bool(self.tls)}://127.0.0.1:{self.port}"

    def answers(self, *replies: Json | Reply) -> None:
        """What is answered next, in this order."""
        self._script.extend(reply if isinstance(reply, Reply) else Reply(reply) for reply in replies)

    def listen(self) -> None:
        """Be there, at the port of before if there was one."""
        service = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                service.connections += 1
                service._open.append(self.connection)
                number = service.connections
                with suppress(OSError):  # the test has gone on
                    while service._answer(self.rfile, self.wfile, number):
                        pass

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            request_queue_size = 256

            def get_request(self) -> tuple[Any, Any]:
                connection, address = super().get_request()
                if service.tls:  # the handshake is the first reader's, in the connection's own thread
                    connection = service.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
                return connection, address

        self._server = Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def leave(self) -> None:
        """Be gone: the port refuses, open connections break."""
        assert self._server
        self._server.shutdown()
        self._server.server_close()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._open.clear()
        self._server = None

    def _answer(self, reader: Any, writer: Any, connection: int) -> bool:
        line = reader.readline().decode().split()
        if not line:
            return False
        headers: dict[str, str] = {}
        while header := reader.readline().decode().strip():
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        body = json.loads(reader.read(int(headers.get("content-length", "0"))) or "{}")
        asked = Asked(line[1], headers, body, connection)
        if asked.path == "/cdap/v1/hello":
            self.hellos.append(asked)
            reply = self.hello
        else:
            self.asked.append(asked)
            reply = Reply(self.decides(asked)) if self.decides else self._script.popleft()
        if reply.hangs:
            self._released.wait(30)
            return False
        if reply.drops:
            return False
        writer.write(reply.as_bytes())
        writer.flush()
        return not reply.cut

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._released.set()
        if self._server:
            self.leave()
