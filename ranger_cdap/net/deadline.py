"""HTTP conversation that ends at a deadline, whatever the server does.

`Exchange` bounds each wait within a request, so a server that sends a byte now and then can hold its caller for long.
Here each conversation has a thread of its own, and the caller waits for its deadline at most. Then the connection is
shut down, which ends the thread. A look-up of a name, a connection or a TLS handshake that is not complete by then ends
by its own time-out, and nothing is sent after it.
"""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import copy_context
from http import HTTPStatus
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlsplit

from ranger_cdap.config import Address
from ranger_cdap.net.tls import TlsFiles

T = TypeVar("T")

_LARGEST: Final = 1 << 16
_PORTS: Final = {"https": 443, "http": 80}


class DeadlinePassed(TimeoutError):
    """The deadline has passed."""


class AbortableConnection:
    """Connection to one server; proxies are not used, redirects not followed. `timeout` bounds each wait, in seconds.

    Certificates are read when it opens, with the first request.
    """

    def __init__(self, url: Address, tls: TlsFiles, timeout: float) -> None:
        self._url, self._tls, self._timeout = urlsplit(url), tls, timeout
        self._http: HTTPConnection | None = None
        self._is_aborted = threading.Event()

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> tuple[int, bytes]:
        """Send a request and return the status, and for 200 the body; a response ends after 64 kB, with its head.

        Raises:
            DeadlinePassed: the deadline has passed.
            ConfigError: a certificate file is unusable.
            OSError: no response was received.
            HTTPException: the response is not HTTP.
        """
        if self._http is None:
            self._http = self._new()
        if self._http.sock is None:
            self._http.connect()
        # Not before: from here on `abort` finds the socket.
        if self._is_aborted.is_set():
            raise DeadlinePassed
        self._http.request(method, self._url.path + path, body, {"User-Agent": "ranger-cdap", **headers})
        response = self._http.getresponse()
        return response.status, response.read(_LARGEST) if response.status == HTTPStatus.OK else b""

    def abort(self) -> None:
        """End the conversation from another thread: nothing is sent from then on, and no wait goes on."""
        self._is_aborted.set()
        connected = self._http.sock if self._http is not None else None
        if connected is not None:
            with suppress(OSError):
                # Not the method of `SSLSocket`, which takes the state of TLS away from the thread that reads.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection, in the thread that uses it."""
        if self._http is not None:
            self._http.close()

    def _new(self) -> HTTPConnection:
        host, port = self._url.hostname or "", self._url.port or _PORTS[self._url.scheme]
        http = (
            HTTPSConnection(host, port, timeout=self._timeout, context=self._tls.context())
            if self._url.scheme == "https"
            else HTTPConnection(host, port, timeout=self._timeout)
        )
        http.response_class = _ShortResponse
        return http


class _ShortResponse(HTTPResponse):
    """Response of which nothing beyond 64 kB is read: megabytes of headers take seconds to parse."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fp = io.BufferedReader(_FirstBytes(self.fp.detach(), _LARGEST))


class _FirstBytes(io.RawIOBase):
    """The first bytes of a stream, as if it ended after them."""

    def __init__(self, stream: io.RawIOBase, count: int) -> None:
        self._stream, self._left = stream, count

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        read = self._stream.readinto(memoryview(buffer)[: self._left]) or 0
        self._left -= read
        return read

    def close(self) -> None:
        self._stream.close()
        super().close()


class Conversation(Generic[T]):
    """Conversation in a thread of its own, in the context of the caller, begun at once; `talk` must not raise.

    The deadline is `timeout` seconds from now.

    Raises:
        RuntimeError: no thread can be started.
    """

    def __init__(
        self, connection: AbortableConnection, talk: Callable[[AbortableConnection], T], *, timeout: float
    ) -> None:
        self._connection = connection
        self._talk = talk
        self._result: SimpleQueue[T] = SimpleQueue()
        self._deadline = time.monotonic() + timeout
        # A daemon: the end of the program does not wait for it either.
        threading.Thread(
            target=copy_context().run, args=(self._run,), name="ranger-cdap-conversation", daemon=True
        ).start()

    def result(self) -> T:
        """Return the result of `talk`, once, by the deadline.

        Raises:
            DeadlinePassed: the deadline has passed; the connection is shut down.
        """
        try:
            return self._result.get(timeout=max(0.0, self._deadline - time.monotonic()))
        except Empty:
            self._connection.abort()
            raise DeadlinePassed from None

    def _run(self) -> None:
        try:
            self._result.put(self._talk(self._connection))
        finally:
            self._connection.close()
