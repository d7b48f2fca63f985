"""What the tests of this room share: no waiting between attempts, and a server that misbehaves byte by byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
import stamina

Script = Callable[[socket.socket], None]


@pytest.fixture(autouse=True)
def _no_waiting_between_attempts() -> Iterator[None]:
    with stamina.set_testing(True, attempts=3, cap=True):
        yield


class RawServer:
    """A server on loopback that runs one script a connection after having read the request's head."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[bytes] = []
        self._open = True
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while self._open:
            with suppress(OSError):
                connection, _ = self._listener.accept()
                with connection:
                    connection.settimeout(1)
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        head = b""
        while self._open and b"\r\n\r\n" not in head:
            if not (data := connection.recv(65536)):
                return
            head += data
        self.requests.append(head)
        self._script(connection)

    def close(self) -> None:
        self._open = False
        with suppress(OSError), socket.create_connection(self._listener.getsockname(), timeout=1):
            pass
        self._thread.join()
        self._listener.close()


@pytest.fixture
def raw_server() -> Iterator[Callable[[Script], RawServer]]:
    servers: list[RawServer] = []

    def start(script: Script) -> RawServer:
        servers.append(RawServer(script))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
