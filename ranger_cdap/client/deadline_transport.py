"""`DeadlineTransport`: the transport of the synchronous client, which ends at a time, however slowly bytes arrive.

The time-outs of `httpx` limit each wait for bytes. A server that sends one byte after another would never exceed them.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import httpcore
import httpx

_NEVER: Final = float("inf")
_deadline: Final = ContextVar("deadline", default=_NEVER)


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Let the exchanges of this thread end at that time of the monotonic clock, or at an earlier one set around it."""
    before = _deadline.set(min(deadline, _deadline.get()))
    try:
        yield
    finally:
        _deadline.reset(before)


def _left(timeout: float | None, expired: type[httpcore.TimeoutException]) -> float | None:
    left = _deadline.get() - time.monotonic()
    if left <= 0:
        raise expired("the deadline has passed")
    return timeout if left == _NEVER else left if timeout is None else min(timeout, left)


@dataclass(frozen=True, eq=False)
class _Stream(httpcore.NetworkStream):
    """Stream that waits until the deadline at most."""

    _inner: httpcore.NetworkStream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore.SyncBackend):
    """Network whose streams wait until the deadline at most."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(super().connect_tcp(host, port, left, local_address, socket_options))


@dataclass(frozen=True, eq=False)
class _Body(httpx.SyncByteStream):
    _stream: Any

    def __iter__(self) -> Iterator[bytes]:
        yield from self._stream

    def close(self) -> None:
        self._stream.close()


class DeadlineTransport(httpx.BaseTransport):
    """HTTP/1.1 over a pool of connections with one TLS context; thread-safe."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._pool = httpcore.ConnectionPool(
            context, max_connections=100, max_keepalive_connections=20, keepalive_expiry=5.0, network_backend=_Backend()
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request and return the response, whose body is still to be read; errors are those of `httpcore`."""
        url = httpcore.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        response = self._pool.handle_request(
            httpcore.Request(
                request.method,
                url,
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            response.status, headers=response.headers, stream=_Body(response.stream), extensions=response.extensions
        )

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()
