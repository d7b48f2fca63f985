"""A request whose body comes late: its headers are with CDAP long before CDAP checks anything."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from tests.cdap_master.fixtures import World


@contextmanager
def slow_put(world: World, user: str, path: str, body: bytes) -> Iterator[Any]:
    """A PUT whose headers and first three bytes are sent; what it yields sends the rest and returns the answer."""
    place = urlsplit(world.cdap.url)
    with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
        head = (
            f"PUT {path} HTTP/1.1\r\nHost: {place.netloc}\r\nX-User: {user}\r\n"
            f"Authorization: Bearer credential-of-a-proxy\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        connection.sendall(head.encode() + body[:3])
        time.sleep(1)  # so that the request is under way in CDAP before anybody else asks

        def finish() -> bytes:
            connection.sendall(body[3:])
            answer = b""
            while piece := connection.recv(65_536):
                answer += piece
            return answer

        yield finish
