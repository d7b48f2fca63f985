"""`HttpServer`: an application on a port, in the main thread or in its own."""

from __future__ import annotations

import gc
import ipaddress
import sys
import threading
from typing import TYPE_CHECKING, Final

from ranger_cdap.config import ServiceSettings
from ranger_cdap.errors import ConfigError
from ranger_cdap.net.listener import listen, stop_signals
from ranger_cdap.service.http.connections import Connections, Listener
from ranger_cdap.service.http.limits import ServiceLimits
from ranger_cdap.service.http.server_tls import ServerTls

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from ranger_cdap.net.asgi_server import AsgiServer


_BACKLOG: Final = 128
_MARGIN_SECONDS: Final = 5
_LONGEST_TURN: Final = 0.0005  # seconds


class HttpServer:
    """Server for an application on the configured address; it queues connections from its creation until it runs.

    `option` has set the address instead of the settings.

    Raises:
        ConfigError: other machines could reach the address, and there is no usable certificate.
        ServerError: the port is in use.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        limits: ServiceLimits = ServiceLimits(),  # noqa: B008 - immutable
        option: str = "",
    ) -> None:
        check_exposure(settings, option or "`service.host`")
        self._tls = ServerTls(settings) if settings.tls_certificate else None
        self._settings = settings
        self._limits = limits
        address = "127.0.0.1" if settings.host == "localhost" else settings.host
        self.connections = Connections(limits.connections, max(1, limits.connections // 2), self._tls)
        advice = f"choose another {option or '`service.port`'}"
        self._socket = Listener.over(listen(address, settings.port, backlog=_BACKLOG, advice=advice), self.connections)
        self._server: AsgiServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Return the URL it listens on."""
        host, port = self._socket.getsockname()[:2]
        scheme = "https" if self._settings.tls_certificate else "http"
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    def run(self, app: ASGIApp) -> None:
        """Serve until SIGINT or SIGTERM (in the main thread), or until `stop`; then finish requests in progress."""
        server = self._prepared(app)
        with stop_signals(server.request_stop):
            server.run(self._socket)

    def start(self, app: ASGIApp) -> None:
        """Serve in a thread."""
        run = self._prepared(app).run
        self._thread = threading.Thread(target=run, args=(self._socket,), name="decision-service", daemon=True)
        self._thread.start()

    def _prepared(self, app: ASGIApp) -> AsgiServer:
        from ranger_cdap.net.asgi_server import AsgiServer
        from ranger_cdap.net.http_connection import ConnectionLimits
        from ranger_cdap.service.http.request_guard import RequestGuard

        if self._tls is not None:
            self._socket.before_accepting = self._tls.read_if_changed
        limits = ConnectionLimits(
            self._limits.body, self._limits.request_seconds, self._limits.idle_seconds, self._limits.stop_seconds
        )
        self._server = AsgiServer(app, limits, self.connections, self._tls)
        if isinstance(app, RequestGuard):
            self._server.at_once = app.answer_at_once
        return self._server

    def request_stop(self) -> None:
        """Let `run` return soon."""
        if self._server is not None:
            self._server.request_stop()

    def stop(self) -> None:
        """Finish requests in progress and close the port; idempotent."""
        self.request_stop()
        if self._thread is not None:
            self._thread.join(self._limits.stop_seconds + _MARGIN_SECONDS)
        self._socket.close()


def prefer_short_waits() -> None:
    """Tune this whole process for low tail latency, at the cost of a little throughput.

    While another thread compiles policies or writes audit records, a request would wait for it 5 ms at a time; and a
    garbage collection over loaded policies, none of which is garbage, takes tens of milliseconds.
    """
    sys.setswitchinterval(_LONGEST_TURN)
    gc.collect()
    gc.freeze()


def check_exposure(settings: ServiceSettings, name: str = "`service.host`") -> None:
    """Refuse to send secrets and answers in clear text to other machines.

    Raises:
        ConfigError: the address is not loopback and there is no certificate or half of one, or client certificates
            are required without one.
    """
    if bool(settings.tls_certificate) != bool(settings.tls_key):
        raise ConfigError("`service.tls_certificate` and `service.tls_key` must be set together")
    if settings.tls_client_ca and not settings.tls_certificate:
        raise ConfigError(
            "`service.tls_client_ca` is set and `service.tls_certificate` is not: client certificates need TLS; set "
            "`service.tls_certificate` and `service.tls_key`, or remove `service.tls_client_ca`"
        )
    try:
        loopback = settings.host == "localhost" or ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        raise ConfigError(f"{name} must be an address, not `{settings.host}`") from None
    if not loopback and not settings.tls_certificate:
        raise ConfigError(
            f"{name} is `{settings.host}`, which other machines can reach: set `service.tls_certificate` and "
            "`service.tls_key`, or listen on 127.0.0.1"
        )
