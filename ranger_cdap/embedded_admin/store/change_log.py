"""Which policies each policy version of a service changed, for plugins that ask for what changed only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace

CREATED, UPDATED, DELETED = 0, 1, 2
KEPT_VERSIONS = 1000
"""A plugin that is further behind gets all policies."""


@dataclass(frozen=True, slots=True)
class Change:
    """A policy made, changed or deleted; `id` and `version` (of the service's policies) come from the log."""

    kind: int
    policy_id: int
    policy_type: int
    service_type: str
    id: int = 0
    version: int = 0


class ChangeLog:
    """The log inside one transaction.

    A policy version without an entry is a change of another kind, such as one of a definition, a role or a zone.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def write(self, service_id: int, version: int, change: Change) -> None:
        """Say what made that version."""
        self._connection.execute(
            "INSERT INTO policy_change (service_id, version, kind, policy_id, policy_type, service_type)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (service_id, version, change.kind, change.policy_id, change.policy_type, change.service_type),
        )
        self._connection.execute(
            "DELETE FROM policy_change WHERE service_id = ? AND version <= ?", (service_id, version - KEPT_VERSIONS)
        )

    def since(self, service_id: int, known: int, current: int) -> list[Change] | None:
        """What leads from one version to the other; `None` if the log doesn't tell, and everything must be sent."""
        if not 0 < known < current:
            return None
        rows = self._connection.execute(
            "SELECT kind, policy_id, policy_type, service_type, id, version FROM policy_change"
            " WHERE service_id = ? AND version > ? AND version <= ? ORDER BY version",
            (service_id, known, current),
        ).fetchall()
        changes = [Change(*row) for row in rows]
        return changes if len(changes) == current - known else None


def folded(changes: Iterable[Change]) -> list[Change]:
    """The changes with one for each policy; what was made and deleted since is not mentioned."""
    last: dict[int, Change] = {}
    for change in changes:
        before = last.pop(change.policy_id, None)
        was_made = before is not None and before.kind == CREATED
        if not (was_made and change.kind == DELETED):
            last[change.policy_id] = replace(change, kind=CREATED) if was_made else change
    return list(last.values())
