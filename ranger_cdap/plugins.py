"""The plugin manager: built-in plugins and those of the entry point group `ranger_cdap`, through the same hooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import pluggy

from ranger_cdap import hookspecs
from ranger_cdap.audit import BUILT_IN_SINKS, SinkFactory
from ranger_cdap.engine import ConditionMaker
from ranger_cdap.errors import PluginError

_T = TypeVar("_T")


class BuiltInSinks:
    """The audit sinks `file` and `log`."""

    @hookspecs.hookimpl
    def ranger_cdap_audit_sinks(self) -> Mapping[str, SinkFactory]:
        """The sinks of `ranger_cdap.audit`."""
        return BUILT_IN_SINKS


def plugin_manager(*, entry_points: bool = True) -> pluggy.PluginManager:
    """A manager with the hooks, the built-in plugins and, if wanted, all installed ones.

    Raises:
        PluginError: an installed plugin can't be loaded.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(BuiltInSinks(), name="built-in sinks")
    if entry_points:
        try:
            manager.load_setuptools_entrypoints(hookspecs.PROJECT)
        except Exception as e:
            raise PluginError(f"a plugin of the entry point group `{hookspecs.PROJECT}` can't be loaded: {e}") from e
    return manager


def audit_sinks(manager: pluggy.PluginManager) -> dict[str, SinkFactory]:
    """All audit sinks by name.

    Raises:
        PluginError: two plugins give one name.
    """
    return _joined(manager.hook.ranger_cdap_audit_sinks(), "an audit sink")


def condition_makers(manager: pluggy.PluginManager) -> dict[str, ConditionMaker]:
    """All makers of conditions by the class they stand for.

    Raises:
        PluginError: two plugins give one class.
    """
    return _joined(manager.hook.ranger_cdap_conditions(), "conditions of class")


def _joined(offers: Iterable[Mapping[str, _T]], what: str) -> dict[str, _T]:
    joined: dict[str, _T] = {}
    for offered in offers:
        for name, thing in offered.items():
            if name in joined:
                raise PluginError(f"two plugins offer {what} `{name}`; remove one of them")
            joined[name] = thing
    return joined
