"""Assembly of a decision service from the settings."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.types import ASGIApp

from ranger_cdap.audit import open_trail
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.authz.decider import Decider
from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cdap.checks.master import MasterCreate
from ranger_cdap.config import Settings
from ranger_cdap.config.secret_files import Program, check_secrets
from ranger_cdap.plugins.manager import audit_sinks, engine_options, plugin_manager
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.client.sign_in import AccountSource
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher
from ranger_cdap.service.app import create_app
from ranger_cdap.service.decisions.ranger_service import RangerService
from ranger_cdap.service.events.events import Events
from ranger_cdap.service.grants.grant_forwarder import GrantForwarder
from ranger_cdap.service.grants.role_forwarder import RoleForwarder
from ranger_cdap.service.http.callers import Callers
from ranger_cdap.service.http.metrics import ServiceMetrics
from ranger_cdap.service.state.app_state import AppState
from ranger_cdap.service.table import ROUTES
from ranger_cdap.telemetry.start import start_telemetry

TELEMETRY_NAME: Final = "ranger-cdap"
"""The name of the service in OpenTelemetry, unless `OTEL_SERVICE_NAME` has another one."""


def compose_service(settings: Settings, *, refresh_in_background: bool) -> tuple[AppState, ASGIApp]:
    """Return the state and the application over it, with policies downloaded or read from the cache.

    Raises:
        InvalidInput: a setting is not usable.
        PluginError: an installed plugin is not usable.
    """
    check_secrets(settings, Program.SERVICE)
    config = AuthorizationConfig.of(settings)
    callers = Callers.of(settings.service)
    plugins = plugin_manager(settings)
    audit = open_trail(settings, audit_sinks(plugins))
    options = engine_options(settings.plugin, plugins)
    refreshers = {}
    for name in dict.fromkeys((settings.ranger.service, *settings.service.ranger_services)):
        of_service = msgspec.structs.replace(settings, ranger=msgspec.structs.replace(settings.ranger, service=name))
        admin = RangerAdmin.connect(
            settings, settings.plugin.username, settings.plugin.password, source=AccountSource.PLUGIN
        )
        refreshers[name] = PolicyRefresher(admin, of_service, options=options)
    for refresher in refreshers.values():
        refresher.refresh()
        if refresh_in_background:
            refresher.start()
    hook = plugins.hook.ranger_cdap_groups
    groups = hook if hook.get_hookimpls() else None
    services = {
        name: RangerService(name, refresher, audit, groups, config.cluster) for name, refresher in refreshers.items()
    }
    authorizer = Authorizer(Decider(refreshers[settings.ranger.service], config, audit=audit, plugins=plugins))
    grant_forwarder = GrantForwarder.of(settings, authorizer, services[settings.ranger.service])
    role_forwarder = None
    if grant_forwarder is not None and settings.service.grants == "bridge-with-roles":
        role_forwarder = RoleForwarder(grant_forwarder.rights, grant_forwarder.admin)
    state = AppState(
        settings=settings,
        authorizer=authorizer,
        enforcer=AccessEnforcer(authorizer, MasterCreate(settings.master.create)),
        services=services,
        metrics=ServiceMetrics(),
        events=Events.of(settings),
        grant_forwarder=grant_forwarder,
        role_forwarder=role_forwarder,
        telemetry=start_telemetry(TELEMETRY_NAME),
    )
    state.metrics.watch(state.read_metrics)
    return state, create_app(state, callers, ROUTES)
