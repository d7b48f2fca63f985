"""All event sources, the built-in ones and those of other plugins, by kind."""

from __future__ import annotations

from ranger_cdap.errors import PluginError
from ranger_cdap.plugins import plugin_manager
from spark_sync import hookspecs
from spark_sync.sources.source import EventSource


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
