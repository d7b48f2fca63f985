"""`DecisionService`: the decision service of the settings, in the main thread or in its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ranger_cdap.closing import Closing
from ranger_cdap.config import Settings
from ranger_cdap.errors import ServerError
from ranger_cdap.service.http.server import HttpServer

if TYPE_CHECKING:
    from ranger_cdap.service.state.app_state import AppState


class DecisionService(Closing):
    """Decision service of the settings; a context manager that starts it in a thread and stops it at the end.

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
            self._state, self._app = compose_service(settings, refresh_in_background=refresh_in_background)
        except BaseException:
            self._server.stop()
            raise

    @property
    def url(self) -> str:
        """Return the URL it listens on."""
        return self._server.url

    @property
    def state(self) -> AppState:
        """Return the state that the handlers share."""
        return self._state

    def run(self) -> None:
        """Serve until a signal or a call stops the service; the caller must `close` it."""
        self._server.run(self._app)

    def start(self) -> None:
        """Serve in a thread."""
        self._server.start(self._app)

    def close(self) -> None:
        """Finish requests in progress and accept no more, then deliver the queued audit records."""
        self._server.stop()
        self._state.close()

    def __enter__(self) -> Self:
        self.start()
        return self
