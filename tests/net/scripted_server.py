"""A server that does to whoever connects what a script says: it sends, waits, repeats, hangs up, or resets."""

from __future__ import annotations

import re
import socket
import ssl
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto

PIECE_EVERY = 0.01
PATIENCE = 60.0


class Then(Enum):
    """The end of a script."""

    CLOSE = auto()
    RESET = auto()
    SILENCE = auto()
    AGAIN = auto()
    """The last piece again and again, as fast as it goes."""
    AGAIN_SLOWLY = auto()
    """A byte of the last piece now and then, for ever."""


@dataclass(frozen=True)
class Script:
    """Pieces to send, and how it ends. With `reads`, the request is read first, into `heard`.

    In the pieces, `REQUEST-ID` stands for the id of the request.
    """

    pieces: Sequence[bytes]
    then: Then = Then.CLOSE
    reads: bool = True
    heard: list[bytes] = field(default_factory=list)

    def play(self, connection: socket.socket, ended: threading.Event) -> None:
        request = connection.recv(1 << 16) if self.reads else b""
        self.heard.extend(filter(None, [request]))
        found = re.search(rb"X-Request-Id: ([0-9a-f]+)", request)
        for piece in self.pieces:
            connection.sendall(piece.replace(b"REQUEST-ID", found[1] if found else b""))
        again = (self.pieces[-1] if self.pieces else b"") or b" "
        match self.then:
            case Then.CLOSE:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_WR)
            case Then.RESET:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            case Then.SILENCE:
                ended.wait(PATIENCE)
            case Then.AGAIN:
                while not ended.is_set():
                    connection.sendall(again)
            case Then.AGAIN_SLOWLY:
                while not ended.wait(PIECE_EVERY):
                    for byte in again:
                        connection.sendall(bytes([byte]))
                        if ended.wait(PIECE_EVERY):
                            return


@dataclass
class Playing:
    """A running server: its port, and how many have connected."""

    port: int
    connections: int = 0


@contextmanager
def playing(script: Script, tls: ssl.SSLContext | None = None) -> Iterator[Playing]:
    """Play the script to every connection; all of them end with the block."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        server = Playing(listening.getsockname()[1])

        def serve(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                if tls is None:
                    script.play(connection, ended)
                else:
                    with tls.wrap_socket(connection, server_side=True) as encrypted:
                        script.play(encrypted, ended)

        def accept() -> None:
            while not ended.is_set():
                connection, _ = listening.accept()
                server.connections += 1
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield server
        finally:
            ended.set()
            socket.create_connection(("127.0.0.1", server.port)).close()
            accepting.join()


@contextmanager
def answering(body: bytes, status: int = 200) -> Iterator[str]:
    """Answer every request as a decision service does, with this JSON; yield the address."""
    head = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nX-Request-Id: REQUEST-ID\r\n\r\n" % status
    with playing(Script([head + body])) as server:
        yield f"http://127.0.0.1:{server.port}"
