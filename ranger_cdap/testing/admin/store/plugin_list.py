"""Download status of plugins: one row per service and host, as on Ranger's page *Plugins*."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter

ADDRESS = "127.0.0.1"
"""Every caller's; the server listens on this machine only."""
ADMIN_CAPABILITIES = "7ffff"
MAX_PLUGINS = 10_000
_UNKNOWN = "**Unknown**"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin by the id it sends."""

    app_type: str
    host: str


def read_plugin_id(text: str, service: str) -> Plugin:
    """Parse a `pluginId`, `<appType>@<host>-<service>`."""
    app_type, at, rest = text.partition("@")
    return Plugin(app_type, rest.removesuffix(f"-{service}")) if at and app_type and rest else Plugin(_UNKNOWN, ADDRESS)


@dataclass(frozen=True, slots=True)
class ListedPlugin:
    """A row of the list; `info` is what the plugin reported with its downloads."""

    id: int
    create_time: int
    update_time: int
    service: str
    plugin: Plugin
    info: dict[str, str]


@dataclass(eq=False, slots=True)
class PluginList:
    """Plugin list, in memory only: after a restart each plugin returns with its next download.

    Every use is inside a transaction of the store, so uses never overlap.
    """

    _rows: dict[tuple[str, Plugin], ListedPlugin] = field(default_factory=dict)
    _last_id: int = 0

    def note(
        self, service: str, plugin: Plugin, info: Mapping[str, str], now: int, *, first: Mapping[str, str]
    ) -> None:
        """Record what a plugin reports, `first` only where nothing is known; beyond `MAX_PLUGINS`, evict the oldest."""
        key = (service, plugin)
        known = self._rows.pop(key, None)
        if known is None:
            self._last_id += 1
            known = ListedPlugin(self._last_id, now, now, service, plugin, {})
        self._rows[key] = replace(known, update_time=now, info={**first, **known.info, **info})
        if len(self._rows) > MAX_PLUGINS:
            del self._rows[next(iter(self._rows))]

    def all(self) -> list[ListedPlugin]:
        """Return all plugins, the newest last."""
        return sorted(self._rows.values(), key=attrgetter("id"))
