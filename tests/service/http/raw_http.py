"""HTTP by the byte, for requests that no client would send; and waiting for what the service does meanwhile."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable
from urllib.parse import urlsplit

from ranger_cdap.service.http.metrics import UNDER_WAY
from tests.service.fixtures import World, basic

HELLO = "/cdap/v1/hello"


def head(line: str = f"POST {HELLO} HTTP/1.1", *headers: str, who: str = "enforce") -> bytes:
    """The beginning of a request; a header given here replaces the usual one of its name."""
    usual = {"Host": "127.0.0.1", "Authorization": basic(who), "Content-Type": "application/json"}
    given = {header.partition(":")[0].lower() for header in headers}
    lines = [line, *(f"{name}: {value}" for name, value in usual.items() if name.lower() not in given), *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def send(world: World, *pieces: bytes) -> bytes:
    """What comes back until the service closes the connection or says nothing more."""
    address = urlsplit(world.url)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=10) as connection:
        for piece in pieces:
            connection.sendall(piece)
        return answer(connection)


def answer(connection: socket.socket) -> bytes:
    got = b""
    while b"\r\n\r\n" not in got and (piece := connection.recv(65536)):
        got += piece
    begin, _, body = got.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", begin)
    while length and len(body) < int(length[1]) and (piece := connection.recv(65536)):
        body += piece
    return begin + b"\r\n\r\n" + body


def status(response: bytes) -> int:
    return int(response.split(b" ", 2)[1])


def under_way(world: World, count: int) -> None:
    """Return when so many requests have arrived."""
    until(lambda: world.state.metrics.number(UNDER_WAY) >= count)


def until(done: Callable[[], bool]) -> None:
    waited = threading.Event()
    for _ in range(1000):
        if done():
            return
        waited.wait(0.01)
    raise AssertionError("it did not happen")
