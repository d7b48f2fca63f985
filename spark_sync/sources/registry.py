"""All event sources, the built-in ones and those of other plugins, by kind."""

from __future__ import annotations

from collections.abc import Iterable

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import PluginError
from ranger_cdap.plugins.manager import plugin_manager
from spark_sync.sources.source import EventSource


def event_sources() -> dict[str, EventSource]:
    """All event sources by kind, the built-in ones and those of other plugins.

    Raises:
        PluginError: a plugin can't be loaded, or two offer one kind.
    """
    sources: dict[str, EventSource] = {}
    for offered in plugin_manager().hook.ranger_cdap_event_sources():
        for kind, source in offered.items():
            if kind in sources:
                raise PluginError(f"two plugins offer an event source `{kind}`; remove one of them")
            sources[kind] = source
    return sources


def ranks(configured: Iterable[SourceSettings]) -> dict[str, int]:
    """The rank of each source by its name: the configured one, else that of its kind."""
    known = event_sources()
    return {
        source.name: (known[source.kind].rank if source.kind in known else 0) if source.rank is None else source.rank
        for source in configured
    }


def packages(configured: Iterable[SourceSettings]) -> tuple[str, ...]:
    """The Maven coordinates of all that Spark lacks to read these sources."""
    known = event_sources()
    needed = [package for source in configured if source.kind in known for package in known[source.kind].packages]
    return tuple(dict.fromkeys(needed))
