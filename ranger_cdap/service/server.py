"""`HttpServer` and `DecisionService`: the application on a port, in the main thread or in one of its own."""

from __future__ import annotations

import ipaddress
import socket
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from ranger_cdap.config import ServiceSettings, Settings
from ranger_cdap.errors import ConfigError, ServerError

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from ranger_cdap.service.desk import Desk

_BACKLOG: Final = 512
_KEEP_ALIVE_SECONDS: Final = 75
_MARGIN_SECONDS: Final = 5


class HttpServer:
    """An application on the address of the settings; connections are taken from the beginning and wait until it runs.

    Raises:
        ConfigError: others could reach the address, and there is no certificate.
        ServerError: the port is taken.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        check_exposure(settings)
        self._settings = settings
        self._socket = _listen(settings)
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        host, port = self._socket.getsockname()[:2]
        scheme = "https" if self._settings.tls_certificate else "http"
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    def run(self, app: ASGIApp) -> None:
        """Answer until a signal ends it (in the main thread), or until `stop`; then finish what is under way."""
        import uvicorn

        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=int(self._settings.stop_timeout),
                ssl_certfile=self._settings.tls_certificate,
                ssl_keyfile=self._settings.tls_key,
            )
        )
        self._server.run(sockets=[self._socket])

    def start(self, app: ASGIApp) -> None:
        """Answer in a thread."""
        self._thread = threading.Thread(target=self.run, args=(app,), name="decision-service", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish what is under way and close the port; once more does nothing."""
        if self._server is not None:
            self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(self._settings.stop_timeout + _MARGIN_SECONDS)
        self._socket.close()


class DecisionService:
    """The decision service of the settings; a context manager that starts it in a thread and stops it at the end.

    `service.port = 0` takes a free port. Without `refresh_in_background` policies are downloaded at the start only.

    Raises:
        InvalidInput: a setting is not usable.
        PluginError: an installed plugin is not usable.
        ServerError: the port is taken, or the extra `service` is not installed.
    """

    def __init__(self, settings: Settings, *, refresh_in_background: bool = True) -> None:
        try:
            from ranger_cdap.service.composition import compose_service
        except ModuleNotFoundError as e:
            raise ServerError(
                f"`{e.name}` is not installed; install it with: pip install 'ranger-cdap[service]'"
            ) from None
        self._server = HttpServer(settings.service)
        try:
            self._desk, self._app = compose_service(settings, refresh_in_background=refresh_in_background)
        except BaseException:
            self._server.stop()
            raise

    @property
    def url(self) -> str:
        """Where it answers."""
        return self._server.url

    @property
    def desk(self) -> Desk:
        """What it answers from."""
        return self._desk

    def run(self) -> None:
        """Answer until a signal ends the program or somebody stops the service; the caller must `close` it."""
        self._server.run(self._app)

    def start(self) -> None:
        """Answer in a thread."""
        self._server.start(self._app)

    def close(self) -> None:
        """Answer what is under way and take nothing more, then deliver the audit records that wait."""
        self._server.stop()
        self._desk.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def check_exposure(settings: ServiceSettings) -> None:
    """Refuse to send secrets and answers in clear text beyond this machine.

    Raises:
        ConfigError: the address is not loopback and there is no certificate, or a half of one.
    """
    if bool(settings.tls_certificate) != bool(settings.tls_key):
        raise ConfigError("`service.tls_certificate` and `service.tls_key` go together")
    try:
        loopback = settings.host == "localhost" or ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        raise ConfigError(f"`service.host` must be an address, not `{settings.host}`") from None
    if not loopback and not settings.tls_certificate:
        raise ConfigError(
            f"`service.host` is `{settings.host}`, which others can reach: give `service.tls_certificate` and "
            "`service.tls_key`, or listen on 127.0.0.1"
        )


def _listen(settings: ServiceSettings) -> socket.socket:
    address = "127.0.0.1" if settings.host == "localhost" else settings.host
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # The protocol is named because asyncio sends small answers without delay only where it sees TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, settings.port))
        listener.listen(_BACKLOG)
    except (OSError, OverflowError) as e:
        listener.close()
        raise ServerError(
            f"port `{settings.port}` on `{address}` can't be used: {e}; choose another `service.port`"
        ) from None
    return listener
