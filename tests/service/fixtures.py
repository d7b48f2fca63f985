"""A decision service over policies written in few words, on a real socket, and programs that ask it."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pluggy
from msgspec import structs

from ranger_cdap.audit import AuditTrail
from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cdap.checks.master import MasterCreate
from ranger_cdap.cdap.enforcement import Enforcement
from ranger_cdap.config import AdminSettings, CallerSettings, PluginSettings, Secret, ServiceSettings, Settings
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.ranger.refresh.fixed import documents
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from ranger_cdap.service.api.routes import ApiRoute
from ranger_cdap.service.app import create_app
from ranger_cdap.service.decisions.ranger_service import RangerService
from ranger_cdap.service.events.events import Events
from ranger_cdap.service.http.callers import CallerRole, Callers
from ranger_cdap.service.http.limits import ServiceLimits
from ranger_cdap.service.http.metrics import ServiceMetrics
from ranger_cdap.service.http.server import HttpServer
from ranger_cdap.service.state.app_state import AppState
from ranger_cdap.service.table import ROUTES
from ranger_cdap.telemetry.sdk import Telemetry
from tests.audit.undelayed import Undelayed
from tests.authz.fixtures import FixedPolicies, Json, Memory, authorizer, document, policy

READ_AND_WRITE = [
    policy(1, {"namespace": "ns1"}, ["alice"], ["read", "write"]),
    policy(2, {"namespace": "ns1", "dataset": "kv"}, ["alice", "bob"], ["read", "write"]),
]
"""alice may read and write in ns1, bob on one dataset of it."""


def secret_of(name: str) -> str:
    return f"{name}-secret-0123456789"


def caller(name: str, *roles: CallerRole) -> CallerSettings:
    return CallerSettings(name=name, roles=tuple(role.value for role in roles), secret=Secret(secret_of(name)))


CALLERS = tuple(caller(role.value, role) for role in CallerRole)
"""One caller for each role, named after it."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Site:
    """A running server: `ask` as a caller."""

    url: str

    def ask(self, who: str | None, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request; a body that is no text is sent as JSON, header names are written with `_`."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if who is not None:
            sent["Authorization"] = basic(who)
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port or 0, timeout=20)
        try:
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()


@dataclass
class World(Site):
    """A running service: `memory` holds its audit records."""

    state: AppState
    memory: Memory

    def becomes(self, snapshot: Snapshot) -> None:
        """What the refresher holds is another now."""
        self.state.authorizer.decider.policies.snapshot = snapshot  # type: ignore[misc]


def basic(name: str, secret: str | None = None) -> str:
    return "Basic " + base64.b64encode(f"{name}:{secret or secret_of(name)}".encode()).decode()


def _service(engine: PolicyEngine, memory: Memory) -> RangerService:
    fixed = FixedPolicies(Snapshot(engine, PolicyState.FRESH, ""))
    return RangerService(engine.service_name, fixed, AuditTrail([Undelayed(memory)]))  # type: ignore[arg-type]


@contextmanager
def serving(
    policies: list[Json],
    tmp_path: Path,
    *,
    master: MasterCreate = MasterCreate.PREVIEW,
    others: Iterable[PolicyEngine] = (),
    plugins: pluggy.PluginManager | None = None,
    enforcement: Enforcement | None = None,
    admin: AdminSettings = AdminSettings(),  # noqa: B008 - immutable
    telemetry: Telemetry | None = None,
    limits: ServiceLimits = ServiceLimits(),  # noqa: B008 - immutable
    routes: Sequence[ApiRoute] = ROUTES,
    **service: Any,
) -> Iterator[World]:
    """A service that decides by these policies, and for `others` besides CDAP; `service` are settings of it."""
    settings = Settings(
        admin=admin,
        plugin=PluginSettings(cache_dir=tmp_path / "cache"),
        service=ServiceSettings(**{"port": 0, "callers": CALLERS, "events_dir": tmp_path / "events"} | service),
    )
    memory = Memory()
    asked = authorizer(policies, memory, plugins=plugins, enforcement=enforcement or Enforcement())
    refresher = asked.decider.policies
    read = documents(json.dumps(document(policies)).encode())
    refresher.snapshot = structs.replace(refresher.snapshot, documents=read)  # type: ignore[misc]
    name = settings.ranger.service
    state = AppState(
        settings=settings,
        authorizer=asked,
        enforcer=AccessEnforcer(asked, master),
        services={name: RangerService(name, refresher, AuditTrail([Undelayed(memory)]))}
        | {each.service_name: _service(each, memory) for each in others},
        metrics=ServiceMetrics(),
        events=Events.of(settings),
        grant_forwarder=None,
        role_forwarder=None,
        telemetry=telemetry,
        limits=limits,
    )
    state.metrics.watch(state.read_metrics)
    server = HttpServer(settings.service, limits)
    server.start(create_app(state, Callers.of(settings.service), routes))
    try:
        yield World(server.url, state, memory)
    finally:
        server.stop()
        if state.events is not None:
            state.events.store.close()
