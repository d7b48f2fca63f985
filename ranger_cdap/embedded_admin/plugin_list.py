"""Who has downloaded what: one row for each plugin of a service on a host, as on Ranger's page *Plugins*."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

import msgspec

ADDRESS = "127.0.0.1"
"""Every caller's; the server listens on this machine only."""
ADMIN_CAPABILITIES = "7ffff"
_UNKNOWN = "**Unknown**"
_INFO = msgspec.json.Decoder(dict[str, str])


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin as it calls itself."""

    app_type: str
    host: str


def read_plugin_id(text: str, service: str) -> Plugin:
    """The plugin of a `pluginId`, which is `<appType>@<host>-<service>`."""
    app_type, at, rest = text.partition("@")
    return Plugin(app_type, rest.removesuffix(f"-{service}")) if at and app_type and rest else Plugin(_UNKNOWN, ADDRESS)


@dataclass(frozen=True, slots=True)
class ListedPlugin:
    """A row of the list; `info` is what the plugin has told with its downloads."""

    id: int
    create_time: int
    update_time: int
    service: str
    plugin: Plugin
    info: dict[str, str]


class PluginList:
    """The list inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def note(self, service: str, plugin: Plugin, told: dict[str, str], now: int) -> None:
        """Add what a plugin tells to what is known of it."""
        self._connection.execute(
            "INSERT INTO plugin (service, app_type, host, create_time, update_time, info) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET update_time = excluded.update_time, info = json_patch(info, excluded.info)",
            (service, plugin.app_type, plugin.host, now, now, msgspec.json.encode(told).decode()),
        )

    def all(self) -> list[ListedPlugin]:
        """Everybody, the latest caller last."""
        rows: list[tuple[Any, ...]] = self._connection.execute(
            "SELECT id, create_time, update_time, service, app_type, host, info FROM plugin ORDER BY id"
        ).fetchall()
        return [
            ListedPlugin(number, made, changed, service, Plugin(app, host), _INFO.decode(info))
            for number, made, changed, service, app, host, info in rows
        ]
