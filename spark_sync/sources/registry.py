"""All event sources, the built-in ones and those of other plugins, by kind."""

from __future__ import annotations

from collections.abc import Iterable

from ranger_cdap.config import SourceSettings, SyncSettings
from ranger_cdap.errors import ConfigError
from ranger_cdap.plugins.manager import joined, plugin_manager
from spark_sync.sources.source import EventSource


def event_sources() -> dict[str, EventSource]:
    """Return all event sources by kind.

    Raises:
        PluginError: a plugin cannot be loaded, or two offer one kind.
    """
    return joined(plugin_manager().hook.ranger_cdap_event_sources(), "an event source")


def configured_sources(sync: SyncSettings) -> list[tuple[SourceSettings, EventSource]]:
    """Return each configured source with its event source; starts nothing.

    Raises:
        ConfigError: a kind is unknown, or the settings of a source cannot be used.
        PluginError: a plugin cannot be loaded, or two offer one kind.
    """
    known = event_sources()
    found = []
    for configured in sync.sources:
        if configured.kind not in known:
            kinds = ", ".join(sorted(known))
            raise ConfigError(f"source `{configured.name}` has the unknown kind `{configured.kind}`; known are {kinds}")
        known[configured.kind].check(configured)
        found.append((configured, known[configured.kind]))
    names = [configured.name for configured, _ in found]
    if not sync.hold_back and len(found) > 1:
        raise ConfigError("`sync.hold_back` may be 0 only for a single source: others may report an event later")
    if twice := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"two sources are named `{min(twice)}`; a source's name identifies it in the ledger")
    return found


def ranks(configured: Iterable[SourceSettings]) -> dict[str, int]:
    """Return the rank of each source by its name: the configured one, else that of its kind."""
    known = event_sources()
    return {
        source.name: (known[source.kind].rank if source.kind in known else 0) if source.rank is None else source.rank
        for source in configured
    }


def packages(configured: Iterable[SourceSettings]) -> tuple[str, ...]:
    """Return the Maven coordinates of the packages that Spark needs to read these sources."""
    known = event_sources()
    needed = [package for source in configured if source.kind in known for package in known[source.kind].packages]
    return tuple(dict.fromkeys(needed))
