"""Laws of a server under any stream of bytes: heads alone are heard, every connection ends, others are answered.

A state machine opens connections beside an honest caller, with and without TLS, and puts the server's clock forward.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import tempfile
import threading
import tracemalloc
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("httptools")

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from starlette.types import ASGIApp

from ranger_cdap.net.asgi_server import ACCEPTED_AT_ONCE, AsgiServer
from ranger_cdap.net.doorkeeper import Doorkeeper
from ranger_cdap.net.http_connection import (
    GIVES_WAY,
    READ_AT_ONCE,
    ConnectionLimits,
    HttpConnection,
)
from ranger_cdap.net.http_request import LONGEST_HEAD
from ranger_cdap.net.listener import listen
from tests.certificates import Authority
from tests.net.byte_streams import TRAILING, Sent, chunks, illegal, legal_requests

LIMITS = ConnectionLimits(longest_body=10_000, request_seconds=1_000, idle_seconds=1_000, stop_seconds=5)
PATIENCE = 10.0  # real seconds: for a machine that is busy
CHUNKED = b" HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
DRIPPING = [
    (b"GET / HTTP/1.1\r\nX-A: ", b"a"),
    (b"POST /echo" + CHUNKED, b"1\r\na\r\n"),
    (b"POST /deaf" + CHUNKED, b"1\r\na\r\n"),
    (b"POST /echo" + CHUNKED + b"0\r\nX-A: ", b"a"),
    (b"", b"\r\n"),
]
"""What begins a request that goes on for ever, and how it goes on."""
HONEST = b"GET /honest HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


class ClockedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be put forward."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


class Echo:
    """An application that answers with the fields it was given and with the content, and remembers the fields."""

    def __init__(self) -> None:
        self.names: set[bytes] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.names.update(name for name, _ in scope["headers"])
        content, more = b"", scope["path"] != "/deaf"
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            content += message["body"]
            more = message["more_body"]
        body = json.dumps([len(scope["headers"]), content.decode("latin-1")]).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})


class Running:
    """A server in a thread, on a clock that can be put forward."""

    def __init__(self, app: ASGIApp, tls: ssl.SSLContext | None = None, limits: ConnectionLimits = LIMITS) -> None:
        self.loop = ClockedLoop()
        self.server = AsgiServer(app, limits, Doorkeeper(), tls)
        self._listening = listen("127.0.0.1", 0, backlog=100, advice="")
        self.port = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(self.server.serve(self._listening))

    def hold(self) -> threading.Event:
        """Keep the loop busy until the event is set."""
        busy, goes_on = threading.Event(), threading.Event()

        def wait() -> None:
            busy.set()
            goes_on.wait(PATIENCE)

        self.loop.call_soon_threadsafe(wait)
        assert busy.wait(PATIENCE)
        return goes_on

    def pass_time(self, seconds: float) -> None:
        """Put the clock forward, and wait until what was due has happened."""
        done = threading.Event()

        def put() -> None:
            self.loop.ahead += seconds
            self.loop.call_later(0.001, done.set)

        self.loop.call_soon_threadsafe(put)
        assert done.wait(PATIENCE)

    def stop(self) -> None:
        self.server.request_stop()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def read_all(connection: socket.socket) -> bytes:
    """All that comes until the end."""
    return b"".join(iter(lambda: connection.recv(65_536), b""))


def read_head(connection: socket.socket) -> bytes:
    """The head of the next answer; its content may follow it."""
    got = b""
    while b"\r\n\r\n" not in got:
        piece = connection.recv(65_536)
        assert piece, "ended"
        got += piece
    return got


class Streams(RuleBasedStateMachine):
    """Clients that send whatever they like; `tls` is set below."""

    tls: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        context, self._client = contexts() if self.tls else (None, None)
        self.app = Echo()
        self.running = Running(self.app, context)
        self.open: list[socket.socket] = []

    def connect(self) -> socket.socket:
        plain = socket.create_connection(("127.0.0.1", self.running.port), timeout=PATIENCE)
        return self._client.wrap_socket(plain, server_hostname="127.0.0.1") if self._client else plain

    @rule()
    def a_client_connects(self) -> None:
        if len(self.open) < 5:
            self.open.append(self.connect())

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def it_sends_something(self, data: st.DataObject) -> None:
        piece = data.draw(
            st.one_of(
                legal_requests().map(lambda one: one.data),
                legal_requests().flatmap(lambda one: st.integers(0, len(one.data)).map(lambda to: one.data[:to])),
                illegal,
                st.just(b"POST /deaf" + CHUNKED),
                st.binary(max_size=40).flatmap(chunks),
                st.sampled_from([b"x" * 70_000, b"X-A: b\r\n" * 5_000, b"5\r\nabcde\r\n" * 3_000]),
            )
        )
        connection = data.draw(st.sampled_from(self.open))
        connection.settimeout(0.05)
        with suppress(OSError):
            connection.sendall(piece)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def it_reads(self, data: st.DataObject) -> None:
        connection = data.draw(st.sampled_from(self.open))
        connection.settimeout(0.01)
        with suppress(OSError):
            connection.recv(1_000)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), how=st.sampled_from(["half", "close", "reset"]))
    def it_goes(self, data: st.DataObject, how: str) -> None:
        connection = data.draw(st.sampled_from(self.open))
        with suppress(OSError):
            if how == "half":
                connection.shutdown(socket.SHUT_WR)
                return
            if how == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
        self.open.remove(connection)

    @rule(early=legal_requests(path=b"/deaf"), then=legal_requests(closes=True), ahead=st.booleans())
    def one_is_answered_before_its_body_came(self, early: Sent, then: Sent, ahead: bool) -> None:
        """The rest of its request is dropped, and its next one is answered for itself."""
        end = early.data.index(b"\r\n\r\n") + 4
        with self.connect() as connection:
            connection.sendall(early.data[:end])
            if not ahead:
                assert b"connection: close" not in read_head(connection)
            connection.sendall(early.data[end:] + then.data)
            got = read_all(connection)
        expected = json.dumps([len(then.fields), then.content.decode("latin-1")]).encode()
        assert got.endswith(b"\r\n\r\n" if then.data.startswith(b"HEAD") else expected)
        assert got.count(b"HTTP/1.1 200 OK") == 1 + ahead

    @rule(seconds=st.sampled_from([0.3, 1.1, 500.0]))
    def time_passes(self, seconds: float) -> None:
        self.running.pass_time(seconds)

    @rule()
    def nobody_is_heard_for_ever(self) -> None:
        """After the time of all that can be waited for, every connection has been closed, whatever still comes."""
        self.open += [self.connect() for _ in DRIPPING]
        for connection, (begin, _) in zip(self.open[-len(DRIPPING) :], DRIPPING, strict=True):
            connection.sendall(begin)
        drops = [b"a"] * (len(self.open) - len(DRIPPING)) + [drop for _, drop in DRIPPING]
        for _ in range(8):
            self.running.pass_time(0.9 * LIMITS.request_seconds)
            for connection, drop in zip(self.open, drops, strict=True):
                with suppress(OSError):
                    connection.sendall(drop)
        for connection in self.open:
            connection.settimeout(PATIENCE)
            with suppress(ConnectionError, ssl.SSLError):
                while connection.recv(65_536):
                    pass
            connection.close()
        self.open.clear()

    @invariant()
    def an_honest_caller_is_answered(self) -> None:
        with self.connect() as connection:
            connection.sendall(HONEST)
            got = read_all(connection)
        assert got.startswith(b"HTTP/1.1 200 OK\r\n")
        assert got.endswith(b'\r\n\r\n[2, ""]')

    @invariant()
    def no_field_after_a_head_is_heard(self) -> None:
        assert not any(name.startswith(TRAILING) for name in self.app.names)

    def teardown(self) -> None:
        for connection in self.open:
            connection.close()
        self.running.stop()


@cache
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """TLS of a server, and of a client that trusts it."""
    authority = Authority("net")
    with tempfile.TemporaryDirectory() as directory:
        files = authority.server().put(Path(directory) / "certificate.pem", Path(directory) / "key.pem")
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(*files)
    client = ssl.create_default_context(cadata=authority.pem.decode())
    return server, client


class StreamsOverTls(Streams):
    tls = True


FEW = settings(max_examples=15, stateful_step_count=25, deadline=None)
TestStreams = Streams.TestCase
TestStreams.settings = FEW
TestStreamsOverTls = StreamsOverTls.TestCase
TestStreamsOverTls.settings = FEW


def test_content_that_nobody_takes_is_not_kept() -> None:
    """While the application does something else the client waits; then all of the content comes, in small pieces."""
    sizes: list[int] = []
    takes = threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(None, takes.wait, PATIENCE)
        more = True
        while more:
            message = await receive()
            sizes.append(len(message["body"]))
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    length = 20_000_000
    running = Running(app, limits=replace(LIMITS, longest_body=length))
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % length)
        connection.settimeout(0.5)
        content = memoryview(bytes(length))
        sent = 0
        with suppress(TimeoutError):
            while sent < length:
                sent += connection.send(content[sent:])
        assert sent < length, "it waits"
        takes.set()
        connection.settimeout(PATIENCE)
        connection.sendall(content[sent:])
        assert connection.recv(1_000).startswith(b"HTTP/1.1 204")
    running.stop()
    assert sum(sizes) == length
    assert max(sizes) <= LONGEST_HEAD + READ_AT_ONCE


def test_what_is_sent_ahead_of_an_answer_is_one_request_or_ends_the_connection() -> None:
    asked: list[str] = []
    began, answers = threading.Event(), threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["path"])
        began.set()
        await asyncio.get_running_loop().run_in_executor(None, answers.wait, PATIENCE)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    running = Running(app)
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as connection:
        connection.sendall(b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert began.wait(PATIENCE)
        # Nothing is read meanwhile; then these come in one piece.
        connection.sendall(b"".join(b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n" % n for n in (2, 3, 4)))
        answers.set()
        got = read_all(connection)
    running.stop()
    assert asked == ["/1", "/2", "/3"]
    assert [b"connection: close" in one for one in got.split(b"HTTP/1.1 200")[1:]] == [False, False, True]


EARLY = {
    # what comes after an early answer, how often time passes, by which the connection ends
    "more than a body may have": (b"8000\r\n" + b"x" * 0x8000 + b"\r\n", 20, 0.0),
    "trailers without an end": (b"0\r\n" + b"X-A: b\r\n" * 2_000, 20, 0.0),
    "no end in the time of the request": (b"1\r\nx\r\n", 2, 0.6),
}


@pytest.mark.parametrize("what", EARLY)
def test_what_comes_after_an_early_answer_ends_within_the_bounds_of_its_request(what: str) -> None:
    more, times, of_the_time = EARLY[what]
    running = Running(Echo())
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as connection:
        connection.sendall(b"POST /deaf" + CHUNKED)
        assert b"connection: close" not in read_head(connection)
        with suppress(OSError):  # it has ended
            for _ in range(times):
                connection.sendall(more)
                if of_the_time:
                    running.pass_time(of_the_time * LIMITS.request_seconds)
        with suppress(ConnectionError):
            assert b"HTTP/" not in read_all(connection)
    running.stop()


def test_a_client_that_waits_for_a_continue_is_told_the_end_of_its_connection() -> None:
    """It may send its body after the answer, or take its next request for what comes next."""
    running = Running(Echo())
    head = b"POST /deaf HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as connection:
        connection.sendall(head)
        assert b"\r\nconnection: close\r\n" in read_all(connection)
    running.stop()


def test_in_a_turn_of_the_loop_few_are_accepted_and_one_that_sent_much_is_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turn, done = 0, threading.Event()
    opened: Counter[int] = Counter()
    read: Counter[int] = Counter()
    known: set[HttpConnection] = set()
    update, open_ = HttpConnection.buffer_updated, AsgiServer.opened

    def count_turns() -> None:
        nonlocal turn
        turn += 1
        if not done.is_set():
            running.loop.call_soon(count_turns)

    def buffer_updated(connection: HttpConnection, nbytes: int) -> None:
        # After its first piece a connection has its turn among the others.
        read[turn] += connection in known
        if nbytes >= GIVES_WAY:
            known.add(connection)
        update(connection, nbytes)

    def opened_(server: AsgiServer, connection: HttpConnection) -> None:
        opened[turn] += 1
        open_(server, connection)

    monkeypatch.setattr(HttpConnection, "buffer_updated", buffer_updated)
    monkeypatch.setattr(AsgiServer, "opened", opened_)
    running = Running(Echo())
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as honest:
        honest.sendall(HONEST)
        assert read_all(honest).startswith(b"HTTP/1.1 200 OK\r\n")
    goes_on = running.hold()
    hostile = [socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) for _ in range(50)]
    content = b"1\r\nx\r\n" * 10_000
    for connection in hostile:
        connection.sendall(b"POST /echo" + CHUNKED)
        connection.setblocking(False)
        with suppress(BlockingIOError):
            connection.send(content)
    running.loop.call_soon_threadsafe(count_turns)
    goes_on.set()
    while sum(read.values()) < 100:
        done.wait(0.01)
    most_read, most_opened = max(read.values()), max(opened.values())
    done.set()
    for connection in hostile:
        connection.close()
    running.stop()
    assert most_read == 1
    assert most_opened <= ACCEPTED_AT_ONCE


MOST_OF_A_CONNECTION = 2 * LONGEST_HEAD + 2 * READ_AT_ONCE
TLS_BUFFER = 300_000  # asyncio's buffer of 256 KiB and its objects; OpenSSL's own memory is not Python's
HOARDING = {
    "nothing": (b"", b""),
    "a head": (b"GET / HTTP/1.1\r\nHost: a\r\n", b"".join(b"X-%d: %s\r\n" % (n, b"x" * 2_000) for n in range(40))),
    "a body that nobody takes": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n", b"x" * 400_000),
    "requests ahead": (b"", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 10_000),
}


@pytest.mark.parametrize("over_tls", [False, True])
@pytest.mark.parametrize("what", HOARDING)
def test_a_connection_keeps_few_bytes_whatever_is_sent(what: str, over_tls: bool) -> None:
    begin, more = HOARDING[what]
    server, client = contexts() if over_tls else (None, None)
    goes_on = threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(None, goes_on.wait, PATIENCE)

    running = Running(app, server, replace(LIMITS, longest_body=10_000_000))
    connections: list[socket.socket] = []
    tracemalloc.start()
    try:
        for _ in range(20):
            plain = socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE)
            connections.append(client.wrap_socket(plain, server_hostname="127.0.0.1") if client else plain)
            connections[-1].sendall(begin)
        before = tracemalloc.get_traced_memory()[0] if not over_tls else 0
        for connection in connections:
            connection.settimeout(0.1)
            with suppress(OSError):
                connection.sendall(more)
        for _ in range(100):
            running.pass_time(0)
        kept = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
        goes_on.set()
        for connection in connections:
            connection.close()
        running.stop()
    assert kept / len(connections) < MOST_OF_A_CONNECTION + over_tls * TLS_BUFFER
