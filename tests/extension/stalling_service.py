"""A server that keeps whoever connects: it sends a piece again and again, or does not even read."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

OK = b"HTTP/1.1 200 OK\r\n"
PATIENCE = 60.0


@dataclass(frozen=True)
class Stall:
    """Sends `head`, then `piece` again and again; without a piece it waits, and closes. `reads` is whether it reads."""

    head: bytes = b""
    piece: bytes = b""
    every: float = 0.02
    reads: bool = True
    closes_after: float = PATIENCE

    def hold(self, connection: socket.socket, ended: threading.Event) -> None:
        if self.reads:
            connection.recv(1 << 16)
        connection.sendall(self.head)
        if not self.piece:
            ended.wait(self.closes_after)
        while self.piece and not ended.wait(self.every):
            connection.sendall(self.piece)


@contextmanager
def stalling(stall: Stall) -> Iterator[int]:
    """The port it listens on; with the block, all connections end."""
    ended = threading.Event()
    listening = socket.socket()
    if not stall.reads:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    listening.bind(("127.0.0.1", 0))
    listening.listen(256)

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            stall.hold(connection, ended)

    def accept() -> None:
        while True:
            connection, _ = listening.accept()
            if ended.is_set():
                connection.close()
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    port: int = listening.getsockname()[1]
    try:
        yield port
    finally:
        ended.set()
        socket.create_connection(("127.0.0.1", port)).close()
        accepting.join()
        listening.close()
