"""Former versions of policies, also of deleted ones; the oldest are forgotten first."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from ranger_cdap.embedded_admin.store.records import Stamp, StoredPolicy

KEPT_FORMER_POLICIES = 10_000
"""Versions that are kept, of all policies together."""


@dataclass(frozen=True, slots=True)
class FormerPolicy:
    """A version of a policy that was replaced or deleted at `end_time` (epoch ms)."""

    service_id: int
    end_time: int
    policy: StoredPolicy


class FormerPolicies:
    """Former versions of policies inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def write(self, policy_id: int, now: int) -> None:
        """Keep the present version of a policy, which is about to be replaced or deleted."""
        self._connection.execute(
            "INSERT INTO former_policy (id, guid, version, created_by, updated_by, create_time, update_time,"
            " signature, body, service_id, end_time) SELECT id, guid, version, created_by, updated_by, create_time,"
            " update_time, signature, body, service_id, ? FROM policy WHERE id = ?",
            (now, policy_id),
        )
        self._connection.execute(
            "DELETE FROM former_policy WHERE number <= (SELECT max(number) FROM former_policy) - ?",
            (KEPT_FORMER_POLICIES,),
        )

    def of(self, policy_id: int) -> list[FormerPolicy]:
        """Return the former versions of a policy, oldest first."""
        rows = self._connection.execute(
            "SELECT service_id, end_time, id, guid, version, created_by, updated_by, create_time, update_time,"
            " signature, body FROM former_policy WHERE id = ? ORDER BY version",
            (policy_id,),
        ).fetchall()
        return [FormerPolicy(row[0], row[1], StoredPolicy(Stamp(*row[2:9]), *row[9:])) for row in rows]
