"""Differences of a replay: uses that other policies would have decided otherwise. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from spark_sync.insights.facts import AuditFacts
from spark_sync.insights.table import ColumnKind, InsightTable
from spark_sync.insights.tally import Use

LOST: Final = "lost"
GAINED: Final = "gained"

_COLUMNS: Final = (
    ("change", ColumnKind.TEXT),
    ("user", ColumnKind.TEXT),
    ("access", ColumnKind.TEXT),
    ("type", ColumnKind.TEXT),
    ("resource", ColumnKind.TEXT),
    ("count", ColumnKind.NUMBER),
    ("first", ColumnKind.TIME),
    ("last", ColumnKind.TIME),
    ("recorded_policy", ColumnKind.ID),
    ("new_policy", ColumnKind.ID),
    ("groups_known", ColumnKind.FLAG),
)


def differences(facts: AuditFacts, known_users: Collection[str]) -> InsightTable:
    """Return the uses that were allowed and would be denied (lost) or the reverse (gained), the most frequent first.

    `known_users` are those whose groups are known; any other was decided again as a member of no group.
    """
    found = [use for use in facts.uses if use.now is not None and use.now is not use.allowed]
    found.sort(key=lambda use: (use.now is True, -use.times, use))
    return InsightTable(
        "differences",
        "Decided otherwise",
        "Accesses that really happened and that the policies given would have decided otherwise.",
        _COLUMNS,
        tuple(_row(use, use.user in known_users) for use in found),
    )


def unknown_users(facts: AuditFacts, known_users: Collection[str]) -> tuple[str, ...]:
    """Return the users of the audit whose groups are not known."""
    return tuple(sorted({use.user for use in facts.uses if use.user} - set(known_users)))


def _row(use: Use, groups_known: bool) -> tuple[object, ...]:
    return (
        GAINED if use.now else LOST,
        *(use.user, use.access, use.type, use.resource),
        *(use.times, use.first, use.last),
        *(None if policy < 0 else policy for policy in (use.policy, use.by)),
        groups_known,
    )
