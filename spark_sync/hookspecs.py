"""The sync job's own hooks: what a plugin can add to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.plugins.hookspecs import hookspec

if TYPE_CHECKING:
    from spark_sync.sources.source import EventSource


@hookspec
def ranger_cdap_event_sources() -> Mapping[str, EventSource]:  # type: ignore[empty-body]
    """Event sources by the name that a source's `kind` chooses them by; called only where PySpark is installed."""


@hookspec
def ranger_cdap_resultant(entity: EntityId, user: str, accesses: tuple[str, ...]) -> Collection[str] | None:
    """The access types that `user` is to get on the entity they created, or nothing for those of the profile.

    `accesses` is what the profile gives. A tuple, list or set of `read`, `write`, `admin`, `execute`, perhaps empty. A
    hook is asked when a grant is about to be sent, not when one stands. Where one raises, nothing is sent and the
    grant stays pending.
    """
