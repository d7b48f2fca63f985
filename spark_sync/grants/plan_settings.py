"""Settings of the plan, from the configuration and the installed plugins."""

from __future__ import annotations

from ranger_cdap.cdap.entity import EntityId, entity_types
from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.config import Settings
from ranger_cdap.errors import ConfigError, UnsafeGrant
from ranger_cdap.plugins.manager import plugin_manager
from spark_sync.grants.plan import PlanSettings, group_for
from spark_sync.grants.resultant import Resultant, resultant_of, resultant_plugins


def plan_settings(settings: Settings, resultant: Resultant | None = None) -> PlanSettings:
    """Return the settings of the plan.

    Raises:
        ConfigError: the extra group is not a single group.
        PluginError: a plugin cannot be loaded.
    """
    sync = settings.sync
    try:
        group_for(EntityId("namespace", ("ns1",)), sync.extra_group)
    except UnsafeGrant as e:
        raise ConfigError(str(e)) from None
    plugins = ""
    if resultant is None:
        manager = plugin_manager()
        resultant, plugins = resultant_of(manager), resultant_plugins(manager)
    return PlanSettings(
        instance=settings.cdap.instance,
        service=settings.ranger.service,
        non_creators=non_creators(settings),
        delegate_admin=sync.delegate_admin,
        extra_group=sync.extra_group,
        resultant=resultant,
        profile=settings.cdap.profile,
        gives=given_accesses(settings),
        plugins=plugins,
    )


def given_accesses(settings: Settings) -> dict[str, tuple[str, ...]]:
    """Return the access types of a creator by the profile, by entity type.

    Raises:
        ConfigError: there is no such profile.
    """
    profile = load_profile(settings.cdap.profile)
    return {name: profile.resultant(name) for name in entity_types()}


def non_creators(settings: Settings) -> frozenset[str]:
    """Return the users who never receive grants; the user CDAP runs as is one of them."""
    return frozenset(settings.sync.non_creators) | {settings.master.name}
