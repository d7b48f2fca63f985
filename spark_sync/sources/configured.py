"""The event sources of the settings, checked."""

from __future__ import annotations

from ranger_cdap.config import Settings, SourceSettings
from ranger_cdap.errors import ConfigError
from spark_sync.sources.registry import event_sources
from spark_sync.sources.source import EventSource


def configured_sources(settings: Settings) -> list[tuple[SourceSettings, EventSource]]:
    """Each with its kind; needs PySpark, and starts nothing.

    Raises:
        ConfigError: there is no such kind, or the settings of a source can't be used.
        PluginError: a plugin can't be loaded, or two offer one kind.
    """
    known = event_sources()
    found = []
    for configured in settings.sync.sources:
        if configured.kind not in known:
            kinds = ", ".join(sorted(known))
            raise ConfigError(f"source `{configured.name}` has the kind `{configured.kind}`; known are {kinds}")
        known[configured.kind].check(configured)
        found.append((configured, known[configured.kind]))
    names = [configured.name for configured, _ in found]
    if not settings.sync.hold_back and len(found) > 1:
        raise ConfigError(
            "`sync.hold_back` may be 0 only for a single source: others may tell of an event a moment later"
        )
    if twice := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"two sources are named `{min(twice)}`; a source's name is its place in the ledger")
    return found
