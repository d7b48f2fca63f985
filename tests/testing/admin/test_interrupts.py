"""Ctrl-C at any moment: the server finishes and shows nothing, whatever the program was doing with it."""

from __future__ import annotations

import random
import signal
import socket
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from urllib.parse import urlsplit

import pytest

from ranger_cdap.net.listener import stop_signals
from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.testing.admin.caller import PASSWORD, V2, Caller

LONGEST_RUN = 0.4  # seconds: start-up, and some waiting after it


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What threads would have printed as tracebacks."""
    seen: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda failed: seen.append(repr(failed.exc_value)))
    return seen


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """As from a terminal: what a shell starts in the background ignores interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def server_threads() -> list[int | None]:
    """The threads of servers that run; `threading` itself can take a running thread for ended."""
    named = {thread.ident for thread in threading.enumerate() if thread.name == "embedded-admin"}
    return [ident for ident in sys._current_frames() if ident in named]


def when_main_thread_is_in(method: Callable[..., object], *, then: Callable[[], None]) -> None:
    main = threading.main_thread().ident or 0

    def look() -> None:
        while True:
            frame = sys._current_frames()[main]
            while frame.f_back is not None and frame.f_code is not method.__code__:
                frame = frame.f_back
            if frame.f_code is method.__code__:
                return then()
            time.sleep(0.001)

    threading.Thread(target=look).start()


def ctrl_c() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@contextmanager
def half_a_request(admin: EmbeddedAdmin) -> Iterator[None]:
    """While the rest of it does not come, a stop waits."""
    address = urlsplit(admin.url)
    credentials = b64encode(f"admin:{PASSWORD}".encode()).decode()
    head = (
        f"POST {V2}/policy HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {credentials}\r\n"
        "Content-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
    )
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=10) as connection:
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100")
        yield


# A program of its own, to which Ctrl-C is an exception


def test_stop_after_an_interrupted_wait_ends_the_server(failures: list[str]) -> None:
    others = server_threads()
    admin = EmbeddedAdmin(admin_password=PASSWORD)
    admin.start()
    when_main_thread_is_in(EmbeddedAdmin.wait, then=ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        admin.wait()
    admin.stop()
    assert server_threads() == others
    assert failures == []


def test_stop_after_an_interrupted_stop_ends_the_server(failures: list[str]) -> None:
    others = server_threads()
    admin = EmbeddedAdmin(admin_password=PASSWORD)
    admin.start()
    with half_a_request(admin):
        when_main_thread_is_in(EmbeddedAdmin.stop, then=ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            admin.stop()
    admin.stop()
    assert server_threads() == others
    assert failures == []


# Its name since Python 3.13, and before.
STARTS_THREADS = "_start_joinable_thread" if hasattr(threading, "_start_joinable_thread") else "_start_new_thread"


def test_an_interrupted_start_leaves_no_server(failures: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    start_thread = getattr(threading, STARTS_THREADS)

    def start_and_interrupt(*arguments: object, **more: object) -> object:
        monkeypatch.setattr(threading, STARTS_THREADS, start_thread)
        started = start_thread(*arguments, **more)
        signal.raise_signal(signal.SIGINT)
        return started

    others = server_threads()
    monkeypatch.setattr(threading, STARTS_THREADS, start_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        EmbeddedAdmin(admin_password=PASSWORD).start()
    assert server_threads() == others
    assert failures == []


# The command, to which it is a request to stop


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_signal_at_any_moment_ends_the_server(seed: int, failures: list[str]) -> None:
    moments = random.Random(seed)
    others = server_threads()
    for _ in range(12):
        server = EmbeddedAdmin(admin_password=PASSWORD)
        clients: list[threading.Thread] = []

        def ask(url: str) -> None:
            with suppress(OSError, HTTPException):
                while True:
                    assert Caller(url)("GET", f"{V2}/service") == (200, [])

        with stop_signals(server.request_stop):
            moment = threading.Timer(moments.choice((0.01, 0.1, 1.0)) * moments.uniform(0, LONGEST_RUN), ctrl_c)
            moment.start()
            with server as admin:
                clients += [threading.Thread(target=ask, args=(admin.url,)) for _ in range(2)]
                for client in clients:
                    client.start()
                admin.wait()
            for thread in (moment, *clients):
                thread.join()
        assert server_threads() == others
    assert failures == []
