"""The sync job's own hook: what a plugin can add to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ranger_cdap.hookspecs import hookspec

if TYPE_CHECKING:
    from spark_sync.sources.source import EventSource


@hookspec
def ranger_cdap_event_sources() -> Mapping[str, EventSource]:  # type: ignore[empty-body]
    """Event sources by the name that a source's `kind` chooses them by; called only where PySpark is installed."""
