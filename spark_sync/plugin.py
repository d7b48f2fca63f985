"""The sync job as a plugin of `ranger_cdap`: its commands and its event sources; loads without PySpark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from ranger_cdap.errors import PluginError
from ranger_cdap.hookspecs import hookimpl
from ranger_cdap.plugins import plugin_manager
from spark_sync import hookspecs
from spark_sync.cli.demo import demo
from spark_sync.cli.sync import sync

if TYPE_CHECKING:
    from spark_sync.sources.source import EventSource


@hookimpl
def ranger_cdap_register_commands(cli: click.Group) -> None:
    """`demo`, and `sync` with its commands."""
    cli.add_command(demo)
    cli.add_command(sync)


@hookimpl
def ranger_cdap_event_sources() -> Mapping[str, EventSource]:
    """CDAP's audit messages and data-plane records, both as files of JSON lines."""
    from spark_sync.sources.audit_v2 import AUDIT_V2
    from spark_sync.sources.data_plane import DATA_PLANE

    return {"audit-v2": AUDIT_V2, "data-plane": DATA_PLANE}


def event_sources() -> dict[str, EventSource]:
    """All event sources by kind, the built-in ones and those of other plugins.

    Raises:
        PluginError: a plugin can't be loaded, or two offer one kind.
    """
    manager = plugin_manager()
    manager.add_hookspecs(hookspecs)
    sources: dict[str, EventSource] = {}
    for offered in manager.hook.ranger_cdap_event_sources():
        for kind, source in offered.items():
            if kind in sources:
                raise PluginError(f"two plugins offer an event source `{kind}`; remove one of them")
            sources[kind] = source
    return sources
