"""Change log of policies by policy version of a service, for policy deltas."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ranger_cdap.testing.admin.store.sql_tables import SqlTables

CREATED, UPDATED, DELETED = 0, 1, 2
KEPT_VERSIONS = 1000
"""Plugins further behind get all policies."""


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A created, updated or deleted policy; `id` and `version` (of the service's policies) come from the log."""

    kind: int
    policy_id: int
    policy_type: int
    service_type: str
    id: int = 0
    version: int = 0


class ChangeLog(SqlTables):
    """The change log inside one transaction.

    A policy version without an entry is another change, such as one of a definition, a role or a zone.
    """

    def write(self, service_id: int, version: int, change: LoggedChange) -> None:
        """Log the change that led to that version."""
        self._connection.execute(
            "INSERT INTO policy_change (service_id, version, kind, policy_id, policy_type, service_type)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (service_id, version, change.kind, change.policy_id, change.policy_type, change.service_type),
        )
        self._connection.execute(
            "DELETE FROM policy_change WHERE service_id = ? AND version <= ?", (service_id, version - KEPT_VERSIONS)
        )

    def since(self, service_id: int, known: int, current: int) -> list[LoggedChange] | None:
        """Return the changes between two versions; `None` if the log is incomplete and everything must be sent."""
        if not 0 < known < current:
            return None
        rows = self._connection.execute(
            "SELECT kind, policy_id, policy_type, service_type, id, version FROM policy_change"
            " WHERE service_id = ? AND version > ? AND version <= ? ORDER BY version",
            (service_id, known, current),
        ).fetchall()
        changes = [LoggedChange(*row) for row in rows]
        return changes if len(changes) == current - known else None


def folded(changes: Iterable[LoggedChange]) -> list[LoggedChange]:
    """Merge changes to one per policy; policies both created and deleted are left out."""
    last: dict[int, LoggedChange] = {}
    for change in changes:
        before = last.pop(change.policy_id, None)
        was_made = before is not None and before.kind == CREATED
        if not (was_made and change.kind == DELETED):
            last[change.policy_id] = replace(change, kind=CREATED) if was_made else change
    return list(last.values())
