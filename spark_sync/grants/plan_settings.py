"""Settings of the plan, from the configuration and the installed plugins."""

from __future__ import annotations

from collections.abc import Iterable

from ranger_cdap.cdap.entity import entity_types
from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.config import Settings
from ranger_cdap.engine import AS_GIVEN, NameTransformation, UncertainName
from ranger_cdap.errors import ConfigError
from ranger_cdap.plugins.manager import plugin_manager
from spark_sync.grants.plan import PlanSettings
from spark_sync.grants.resultant import resultant_of, resultant_plugins


def plan_settings(settings: Settings, names: NameTransformation = AS_GIVEN) -> PlanSettings:
    """Return the settings of the plan, for users by their names in Ranger.

    Raises:
        ConfigError: the name of a non-creator is uncertain, or there is no such profile.
        PluginError: a plugin cannot be loaded.
    """
    sync, profile, plugins = settings.sync, load_profile(settings.cdap.profile), plugin_manager()
    return PlanSettings(
        instance=settings.cdap.instance,
        service=settings.ranger.service,
        non_creators=non_creators(settings, names),
        names=names,
        delegate_admin=sync.delegate_admin,
        resultant=resultant_of(plugins),
        on_deletion=sync.on_deletion,
        administrators=administrators(settings.admin.users),
        profile=settings.cdap.profile,
        gives={name: profile.resultant(name) for name in entity_types()},
        plugins=resultant_plugins(plugins),
        follow_zones=sync.zones == "follow",
    )


def administrators(users: Iterable[str]) -> frozenset[str]:
    """Return the names that Ranger shows for the accounts of administrators: of its own, and of `admin.users`.

    Users can choose their first and last name in Ranger, so that one with a space may be anybody's.
    """
    return frozenset({"Admin", "admin", *(name for name in users if " " not in name)})


def non_creators(settings: Settings, names: NameTransformation = AS_GIVEN) -> frozenset[str]:
    """Return the users who never receive grants, as in CDAP and as in Ranger; the user CDAP runs as is one of them.

    Raises:
        ConfigError: a name is uncertain.
    """
    given = frozenset(settings.sync.non_creators) | {settings.master.name}
    return given | {configured_name(names, name, "sync.non_creators") for name in given}


def configured_name(names: NameTransformation, name: str, setting: str) -> str:
    """Return the name in Ranger of a user whom a setting names.

    Raises:
        ConfigError: it is uncertain.
    """
    try:
        return names.user(name)
    except UncertainName as e:
        raise ConfigError(f"`{setting}`: `{name}` may have another name in Ranger: {e}") from None
