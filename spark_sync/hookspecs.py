"""Hooks of the sync job for plugins."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.plugins.hookspecs import hookspec

if TYPE_CHECKING:
    from spark_sync.sources.source import EventSource


@hookspec
def ranger_cdap_event_sources() -> Mapping[str, EventSource]:  # type: ignore[empty-body]
    """Return event sources by the value of `kind` that selects them; called by the sync job only."""


@hookspec
def ranger_cdap_resultant(entity: EntityId, user: str, accesses: tuple[str, ...]) -> Collection[str] | None:
    """Return the access types of `user` on the entity they created; `None` for those of the profile.

    `accesses` are those of the profile. The result is a tuple, list or set of `read`, `write`, `admin`, `execute`,
    perhaps empty. The hook is called before a grant is sent, and for existing ones by `sync reconcile` and `sync
    regrant`. If it raises, nothing is sent and the grant stays pending, an existing one as it is.
    """
