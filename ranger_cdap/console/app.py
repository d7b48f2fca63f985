"""`Console`: the console of the settings, with the callers of the decision service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from msgspec.structs import replace
from starlette.requests import Request
from starlette.types import ASGIApp

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.config import AuditSettings, ServiceSettings, Settings, addresses
from ranger_cdap.console.forms import PATHS, ConsoleView
from ranger_cdap.console.pages import MAX_FILE, STYLE, html_error
from ranger_cdap.console.playground import ExampleQuestion
from ranger_cdap.console.questions import MAX_SECONDS, Questions
from ranger_cdap.console.uploads import refuse_other_sites
from ranger_cdap.console.views import Views
from ranger_cdap.service.http.callers import Caller, CallerRole, Callers
from ranger_cdap.service.http.endpoint import Endpoint, Router, sent_once
from ranger_cdap.service.http.limits import ServiceLimits
from ranger_cdap.service.http.metrics import ServiceMetrics
from ranger_cdap.service.http.reply import Reply
from ranger_cdap.service.http.request_guard import RequestGuard
from ranger_cdap.service.http.server import HttpServer
from ranger_cdap.service.http.shares import Shares

_Page = Callable[[Request, Caller], Awaitable[Reply]]

ROLES: Final = frozenset({CallerRole.DELEGATE})
LIMITS: Final = ServiceLimits(body=MAX_FILE, request_seconds=60.0)


class Console:
    """Console of the settings, which must be closed; with `fixed`, by the policies of another authorizer.

    It listens on `service.host` and `service.port`. `must_start_again` becomes true when a question takes too long:
    `run` then returns, and only a new process ends what is still computed. With `is_open` no one signs in, and no page
    of another site can use it; `examples` are questions for the first page.

    Raises:
        InvalidInput: a setting is not usable.
        PluginError: an installed plugin is not usable.
        ServerError: the port is taken.
    """

    def __init__(
        self,
        settings: Settings,
        fixed: Authorizer | None = None,
        *,
        is_open: bool = False,
        examples: Sequence[ExampleQuestion] = (),
    ) -> None:
        self.must_start_again = False
        callers = Callers.of(settings.service)
        self._server = HttpServer(settings.service, LIMITS, option="--listen")
        try:
            # Nothing is audited, and the audit files belong to the decision service.
            unaudited = replace(settings, audit=AuditSettings(sinks=()))
            self.authorizer = fixed or Authorizer.open(unaudited)
        except BaseException:
            self._server.stop()
            raise
        ui = "" if is_open else next(iter(addresses(settings.ranger.url)), "").rstrip("/")
        questions = Questions(self._start_again, MAX_SECONDS)
        self._app = create_app(
            settings.service,
            callers,
            Views(self.authorizer, settings, ui, questions, examples),
            frozenset() if is_open else ROLES,
        )

    @property
    def url(self) -> str:
        """Return the URL it listens on."""
        return self._server.url

    def run(self) -> None:
        """Serve until a signal, or until it must start again; the caller must `close` it."""
        self._server.run(self._app)

    def _start_again(self) -> None:
        self.must_start_again = True
        self._server.request_stop()

    def close(self) -> None:
        """Finish requests in progress, and stop refreshing."""
        self._server.stop()
        self.authorizer.close()


def create_app(
    service: ServiceSettings, callers: Callers, views: Views, roles: frozenset[CallerRole] = ROLES
) -> ASGIApp:
    """Return the application with a page for each view, for callers with one of the roles; without roles for anyone."""
    shares = Shares(service, LIMITS)
    pages: dict[str, _Page] = {path: partial(views.page, view) for view, path in PATHS.items()}
    pages[STYLE] = views.style
    paths: dict[str, dict[str, Endpoint]] = {
        path: {"GET": _PageEndpoint(path, roles, callers, shares, page, error=html_error)}
        for path, page in pages.items()
    }
    impact = paths[PATHS[ConsoleView.IMPACT]]
    impact["POST"] = impact["GET"]
    return RequestGuard(
        app=Router(paths, html_error),
        metrics=ServiceMetrics(),
        hosts=service.hosts,
        public=(),
        max_requests=LIMITS.requests,
        max_body=LIMITS.body,
        errors=dict.fromkeys(paths, html_error),
    )


@dataclass(eq=False)
class _PageEndpoint(Endpoint):
    """Serve one page."""

    page: _Page

    async def answer(self, request: Request, caller: Caller) -> Reply:
        """Return the page; without sign-in only to a browser that no other site sent here."""
        if not self.roles:
            refuse_other_sites(sent_once(request.headers), own_without_proof=request.method in ("GET", "HEAD"))
        return await self.page(request, caller)
