"""Who opens connections and says nothing, or very little, is not waited for, in the first request and in later ones."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("httptools")

from starlette.responses import PlainTextResponse

from ranger_cdap.config import ServiceSettings
from ranger_cdap.net.http_request import LONGEST_HEAD
from ranger_cdap.service.http.limits import ServiceLimits
from ranger_cdap.service.http.server import HttpServer

PATIENCE = 0.1
EVER = 600.0
SOON = 5.0
HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@contextmanager
def answering(patience: float) -> Iterator[tuple[str, int]]:
    server = HttpServer(ServiceSettings(port=0), ServiceLimits(request_seconds=patience))
    server.start(PlainTextResponse("answered"))
    host, port = server.url.removeprefix("http://").split(":")
    yield host, int(port)
    server.stop()


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    with answering(PATIENCE) as found:
        yield found


def read_to_the_end(connection: socket.socket) -> bytes:
    """What the server sends until it closes; a time-out if it does not."""
    connection.settimeout(SOON)
    pieces = b""
    try:
        while piece := connection.recv(65536):
            pieces += piece
    except ConnectionResetError:
        pass
    return pieces


@pytest.mark.parametrize(
    "sent",
    [b"", b"G", HEAD, HEAD + b"X-A: " + b"a" * 1000],
    ids=["nothing", "one letter", "no end of the head", "a header without end"],
)
def test_a_head_that_does_not_come_is_not_waited_for(address: tuple[str, int], sent: bytes) -> None:
    with socket.create_connection(address, timeout=SOON) as connection:
        connection.sendall(sent)
        assert b"200" not in read_to_the_end(connection)


def pour(connection: socket.socket, piece: bytes, times: int, pause: float = 0.0) -> None:
    for _ in range(times):
        connection.sendall(piece)
        time.sleep(pause)


def pour_for(connection: socket.socket, piece: bytes, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        connection.sendall(piece)


def test_a_head_that_comes_letter_by_letter_is_not_waited_for_either(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=SOON) as connection:
        connection.sendall(HEAD + b"X-A: ")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            pour(connection, b"a", 500, pause=0.01)


def test_the_second_request_of_a_connection_has_no_more_time() -> None:
    with answering(0.5) as address, socket.create_connection(address, timeout=SOON) as connection:
        connection.sendall(HEAD + b"\r\n" + HEAD)
        assert read_to_the_end(connection).count(b"answered") == 1


def test_a_head_in_pieces_that_comes_in_time_is_answered() -> None:
    with answering(EVER) as address, socket.create_connection(address, timeout=SOON) as connection:
        for piece in (HEAD[:10], HEAD[10:], b"Connection: close\r\n\r\n"):
            connection.sendall(piece)
        assert b"answered" in read_to_the_end(connection)


def test_a_connection_that_is_kept_open_is_not_closed_for_it() -> None:
    """Clients keep connections; the time counts from the first letter of a request."""
    patience = 0.5  # enough for a request that comes at once, on any machine
    with answering(patience) as address, socket.create_connection(address, timeout=SOON) as connection:
        connection.sendall(HEAD + b"\r\n")
        time.sleep(1.5 * patience)
        connection.sendall(HEAD + b"Connection: close\r\n\r\n")
        assert read_to_the_end(connection).count(b"answered") == 2


def test_a_head_that_is_too_long_is_refused_and_the_connection_closed() -> None:
    """What is sent after the refusal is read for a moment, so that the refusal arrives, however fast the sender is."""
    with (
        answering(EVER) as address,
        socket.create_connection(address, timeout=SOON) as connection,
        pytest.raises((ConnectionResetError, BrokenPipeError)),
    ):
        pour_for(connection, b"X-A: " + b"a" * 10_000, SOON)


def test_a_body_may_be_longer_than_a_head() -> None:
    body = b"x" * (2 * LONGEST_HEAD)
    head = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    with answering(EVER) as address, socket.create_connection(address, timeout=SOON) as connection:
        connection.sendall(head + body)
        assert b"answered" in read_to_the_end(connection)
