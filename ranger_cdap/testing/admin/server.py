"""Server of the embedded Ranger Admin, on a loopback port, in a thread of this process."""

from __future__ import annotations

import ipaddress
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ranger_cdap.errors import InvalidInput, ServerError
from ranger_cdap.net.listener import listen
from ranger_cdap.testing.admin.api.bootstrap import prepare
from ranger_cdap.testing.admin.rules.passwords import hash_password
from ranger_cdap.testing.admin.store.store import Store

if TYPE_CHECKING:
    from ranger_cdap.net.asgi_server import AsgiServer

_BACKLOG = 128
_START_SECONDS = 20.0
_STOP_SECONDS = 10.0
_GRACE_SECONDS = 5
_KEEP_ALIVE_SECONDS = 60
_LONGEST_BODY = 64_000_000


class EmbeddedAdmin:
    """A small Ranger Admin for evaluation and tests, never for production; starts as a context manager.

    Args:
        database: SQLite file, created if missing; without one, data is kept in memory.
        admin_password: password of the user `admin`; replaces the one in an existing file.
        host: loopback address.
        port: 0 selects a free port.
        policy_deltas: serve policy deltas to plugins that ask for them; off by default, as on a real server.

    Raises:
        InvalidInput: the host is not loopback, or the file is not a database of the embedded Ranger Admin.
        ServerError: the port is in use, or the extra `service` is not installed.
    """

    def __init__(
        self,
        database: Path | None = None,
        *,
        admin_password: str,
        host: str = "127.0.0.1",
        port: int = 0,
        policy_deltas: bool = False,
    ) -> None:
        if not admin_password:
            raise InvalidInput("the embedded Ranger Admin needs a password for `admin`; give one that is not empty")
        self._address = _loopback(host)
        self._port = port
        self._database = database
        self._policy_deltas = policy_deltas
        self._password_hash = hash_password(admin_password)
        self._store: Store | None = None
        self._server: AsgiServer | None = None
        self._thread: threading.Thread | None = None
        self._socket: socket.socket | None = None
        self._ended = threading.Event()
        self._stop_requested = False
        self._bound_port = 0

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`, after the start."""
        if not self._bound_port:
            raise ServerError("the embedded Ranger Admin has no address before it is started")
        host = f"[{self._address}]" if ":" in self._address else self._address
        return f"http://{host}:{self._bound_port}"

    def start(self) -> None:
        """Open the database and the port; on return, requests are served."""
        if self._thread is not None:
            return
        self._socket = listen(
            self._address, self._port, backlog=_BACKLOG, advice="choose another port, or 0 for a free one"
        )
        try:
            self._bound_port = self._socket.getsockname()[1]
            self._store = Store(self._database)
            self._server = _server(self._store, self._password_hash, self._policy_deltas)
            if self._stop_requested:
                self._server.request_stop()
            self._ended = threading.Event()
            self._thread = threading.Thread(
                target=_serve,
                args=(self._server, self._socket, self._store, self._ended),
                name="embedded-admin",
                daemon=True,
            )
            with _interrupts_pending():
                self._thread.start()
            self._await_start()
        except BaseException:
            self.stop()
            raise

    def _await_start(self) -> None:
        # The socket listens already, so a first connection waits until the server accepts it.
        try:
            with socket.create_connection((self._address, self._bound_port), timeout=_START_SECONDS) as probe:
                probe.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                answered = probe.recv(1)
        except OSError:
            answered = b""
        if not answered and not self._stop_requested:
            raise ServerError(f"the embedded Ranger Admin did not answer within {_START_SECONDS:.0f} s of its start")

    def request_stop(self) -> None:
        """Let the server finish soon, without waiting for it; safe in a signal handler, also during the start."""
        self._stop_requested = True
        if self._server is not None:
            self._server.request_stop()

    def stop(self) -> None:
        """Finish pending requests, then close the port and the database; idempotent."""
        self.request_stop()
        if self._thread is not None and self._thread.ident is not None:
            if self._ended.wait(_STOP_SECONDS):
                self._thread.join()
        else:
            _close(self._socket, self._store)
        self._server = self._thread = self._socket = self._store = None
        self._bound_port, self._stop_requested = 0, False

    def wait(self) -> None:
        """Block until the server stops."""
        # Not by `join`: until Python 3.13, an interrupted one takes a running thread for ended.
        if self._thread is not None:
            self._ended.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


def _serve(server: AsgiServer, listener: socket.socket, store: Store, ended: threading.Event) -> None:
    """Serve until told to exit; what the server uses is closed by nothing but its own end."""
    try:
        server.run(listener)
    finally:
        _close(listener, store)
        ended.set()


def _close(listener: socket.socket | None, store: Store | None) -> None:
    if listener is not None:
        listener.close()
    if store is not None:
        store.close()


@contextmanager
def _interrupts_pending() -> Iterator[None]:
    """Keep Ctrl-C pending: a thread whose start is interrupted may run, and does not say so."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _loopback(host: str) -> str:
    name = "127.0.0.1" if host == "localhost" else host
    try:
        is_loopback = ipaddress.ip_address(name).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise InvalidInput(
            f"the embedded Ranger Admin is not for production and listens on this machine only, not on `{host}`; "
            "use 127.0.0.1"
        )
    return name


def _server(store: Store, admin_password_hash: str, policy_deltas: bool) -> AsgiServer:
    try:
        from ranger_cdap.net.asgi_server import AsgiServer
        from ranger_cdap.net.doorkeeper import Doorkeeper
        from ranger_cdap.net.http_connection import ConnectionLimits
        from ranger_cdap.testing.admin.api.app import create_app, epoch_ms
    except ModuleNotFoundError as e:
        raise ServerError(f"`{e.name}` is not installed; install it with: pip install 'ranger-cdap[service]'") from None
    with store.transaction() as tables:
        prepare(tables, admin_password_hash, epoch_ms())
    app = create_app(store, policy_deltas=policy_deltas)
    return AsgiServer(
        app, ConnectionLimits(_LONGEST_BODY, _KEEP_ALIVE_SECONDS, _KEEP_ALIVE_SECONDS, _GRACE_SECONDS), Doorkeeper()
    )
