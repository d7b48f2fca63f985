"""The plugin manager: built-in plugins and those of the entry point group `ranger_cdap`, with the same hooks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
import pluggy

from ranger_cdap.errors import PluginError
from ranger_cdap.plugins import hookspecs

if TYPE_CHECKING:
    from ranger_cdap.audit import SinkFactory
    from ranger_cdap.config import PluginSettings, Settings
    from ranger_cdap.directory.group_directory import GroupDirectory, GroupSourceFactory
    from ranger_cdap.engine import ConditionFactory, EngineOptions

_T = TypeVar("_T")
_OURS: Final = "ranger-cdap"
_BUILT_IN_CONDITIONS: Final = "built-in conditions"


class BuiltInSinks:
    """The audit sinks `file`, `log`, `solr` and `elasticsearch`."""

    @hookspecs.hookimpl
    def ranger_cdap_audit_sinks(self) -> Mapping[str, SinkFactory]:
        """Return the sinks of `ranger_cdap.audit`."""
        # Every command has a plugin manager, few audit.
        from ranger_cdap.audit import BUILT_IN_SINKS

        return BUILT_IN_SINKS


class BuiltInGroupSources:
    """The source `posix`."""

    @hookspecs.hookimpl
    def ranger_cdap_group_sources(self) -> Mapping[str, GroupSourceFactory]:
        """Return the accounts of this machine."""
        from ranger_cdap.directory.posix_groups import PosixGroups

        return {"posix": lambda _: PosixGroups()}


class BuiltInConditions:
    """The script conditions, which need the extra `expressions`; an installed plugin's take their place."""

    @hookspecs.hookimpl
    def ranger_cdap_conditions(self) -> Mapping[str, ConditionFactory]:
        """Return the factory of `ranger_cdap.expressions`; none without the extra."""
        # Only programs that decide need it, and reading its tables takes time.
        from ranger_cdap.expressions import script_conditions

        return script_conditions()


@dataclass(frozen=True, slots=True, eq=False)
class ConfiguredGroups:
    """The sources of groups in `[groups]`."""

    directory: GroupDirectory

    @hookspecs.hookimpl
    def ranger_cdap_groups(self, user: str) -> Collection[str] | None:
        """Return the groups of the sources; None if none of them knows the user.

        Raises:
            GroupLookupFailed: they are unknown.
        """
        return self.directory.groups_of(user)


def plugin_manager(settings: Settings | None = None, *, entry_points: bool = True) -> pluggy.PluginManager:
    """Return a manager with the hooks, the built-in plugins and, optionally, all installed ones.

    With settings, their sources of groups answer the hook for groups.

    Raises:
        MemoryError: as it is raised; no plugin is to blame.
        PluginError: an installed plugin cannot be loaded, or implements a hook that does not exist.
        ConfigError: a source of groups cannot be used.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(BuiltInSinks(), name="built-in sinks")
    manager.register(BuiltInGroupSources(), name="built-in sources of groups")
    manager.register(BuiltInConditions(), name=_BUILT_IN_CONDITIONS)
    if entry_points:
        try:
            manager.load_setuptools_entrypoints(hookspecs.PROJECT)
        except MemoryError:  # the limit of this process, not a fault of the plugin
            raise
        except Exception as e:
            raise PluginError(f"a plugin of the entry point group `{hookspecs.PROJECT}` cannot be loaded: {e}") from e
        complete(manager)
    if settings is not None and (settings.groups.sources or settings.groups.static):
        # Few programs take groups from anywhere but Ranger.
        from ranger_cdap.directory.group_directory import GroupDirectory

        directory = GroupDirectory.of(settings, joined(manager.hook.ranger_cdap_group_sources(), "a source of groups"))
        if directory is not None:
            manager.register(ConfiguredGroups(directory), name="configured groups")
    return manager


def complete(manager: pluggy.PluginManager) -> None:
    """Add the hooks that plugins define, then validate every plugin: a misspelt veto would veto nothing.

    Raises:
        PluginError: a plugin implements a hook that does not exist, or with arguments that it does not have.
    """
    try:
        manager.hook.ranger_cdap_add_hooks(manager=manager)
        manager.check_pending()
    except MemoryError:
        raise
    except Exception as e:
        raise PluginError(f"a plugin does not fit the hooks: {' '.join(str(e).split())}") from e


class Provided(msgspec.Struct, frozen=True):
    """A hook that a plugin implements, with its package, and the names the plugin registers by that hook, if any."""

    plugin: str
    package: str
    version: str
    hook: str
    names: tuple[str, ...]


def provided(manager: pluggy.PluginManager, hooks: Collection[str] | None = None) -> Iterator[Provided]:
    """Yield the hooks, or those among `hooks`, that each plugin implements."""
    packages = {id(plugin): dist for plugin, dist in manager.list_plugin_distinfo()}
    for name, plugin in manager.list_name_plugin():
        dist = packages.get(id(plugin))
        if dist is not None:
            package, number = dist.metadata["Name"], dist.version
        else:
            package, number = _OURS, version(_OURS)
        for hook in manager.get_hookcallers(plugin) or ():
            if hooks is not None and hook.name not in hooks:
                continue
            (implementation,) = (one for one in hook.get_hookimpls() if one.plugin is plugin)
            yield Provided(name, package, number, hook.name, _names(implementation))


def audit_sinks(manager: pluggy.PluginManager) -> dict[str, SinkFactory]:
    """Return all audit sinks by name.

    Raises:
        PluginError: two plugins register the same name.
    """
    return joined(manager.hook.ranger_cdap_audit_sinks(), "an audit sink")


def condition_factories(manager: pluggy.PluginManager) -> dict[str, ConditionFactory]:
    """Return all condition factories by the class they replace; an installed plugin's go before the built-in ones.

    Raises:
        PluginError: two plugins register the same class.
    """
    built_in = manager.get_plugin(_BUILT_IN_CONDITIONS)
    installed = manager.subset_hook_caller("ranger_cdap_conditions", [] if built_in is None else [built_in])
    own = {} if built_in is None else built_in.ranger_cdap_conditions()
    return {**own, **joined(installed(), "conditions of class")}


def engine_options(plugin: PluginSettings, manager: pluggy.PluginManager | None = None) -> EngineOptions:
    """Return the engine's options by the settings, with all conditions of a manager.

    Raises:
        PluginError: two plugins register the same condition.
    """
    from ranger_cdap.engine import EngineOptions

    return EngineOptions(
        conditions=condition_factories(manager) if manager is not None else {},
        transform_names=plugin.transform_names,
        email_to_user=plugin.email_to_user,
        stored_groups="only" if plugin.only_ranger_groups else "added" if plugin.use_ranger_groups else "ignored",
    )


def _names(implementation: pluggy.HookImpl) -> tuple[str, ...]:
    """Return the names in the result of a hook without arguments; a plugin that fails must not hide the others."""
    if implementation.argnames:
        return ()
    try:
        answer = implementation.function()
    except ModuleNotFoundError as e:
        return (f"needs `{e.name}`, which is not installed",)
    except Exception as e:
        return (f"failed with {type(e).__name__}",)
    return tuple(map(str, answer)) if isinstance(answer, Mapping) else ()


def joined(offers: Iterable[Mapping[str, _T]], what: str) -> dict[str, _T]:
    """Return what several plugins offer by name; raises `PluginError` if two offer one name."""
    found: dict[str, _T] = {}
    for offered in offers:
        for name, thing in offered.items():
            if name in found:
                raise PluginError(f"two plugins offer {what} `{name}`; remove one of them")
            found[name] = thing
    return found
