"""Activity in an audit: denials that repeat, and people who stopped. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.pattern import recorded_pattern
from ranger_cdap.keyed import grouped, grouped_once
from ranger_cdap.ranger_model.policy import name_text
from ranger_cdap.tools.insights.facts import AuditFacts
from ranger_cdap.tools.insights.privileges import Members, held_privileges
from ranger_cdap.tools.insights.request import OTHER_PRIVILEGE
from ranger_cdap.tools.insights.table import ColumnKind, InsightTable


def repeated_denials(facts: AuditFacts, instance: str) -> InsightTable:
    """Return the accesses that were denied more than once, the most frequent first; `allowed_now` is None if unknown.

    A denial for another privilege of the same operation counts where that privilege is recorded.
    """
    denied = (use for use in facts.uses if not use.allowed and use.why != OTHER_PRIVILEGE)
    found = grouped(((use.user, use.access, use.type, use.resource), use) for use in denied)
    rows = []
    for (user, access, kind, resource), uses in found.items():
        times = sum(use.times for use in uses)
        if times > 1:
            latest = max(uses, key=lambda use: use.last)
            policy = None if latest.policy < 0 else latest.policy
            named = recorded_pattern(kind, resource)
            place = str(named[1]) if named and named[0] == instance else f"{kind} {resource}"
            rows.append((user, access, place, times, min(use.first for use in uses), latest.last, policy, latest.now))
    return InsightTable(
        "repeated_denials",
        "Denials that repeat",
        "Users who keep asking for what they do not have.",
        (
            ("user", ColumnKind.TEXT),
            ("access", ColumnKind.TEXT),
            ("resource", ColumnKind.TEXT),
            ("count", ColumnKind.NUMBER),
            ("first", ColumnKind.TIME),
            ("last", ColumnKind.TIME),
            ("denied_by", ColumnKind.ID),
            ("allowed_now", ColumnKind.FLAG),
        ),
        tuple(sorted(rows, key=lambda row: (-row[3], row))),
    )


def stopped_users(
    index: PolicyIndex, facts: AuditFacts, groups: Mapping[str, frozenset[str]], cutoff: int
) -> InsightTable:
    """Return the users without a record since `cutoff`: those of the audit, and those whom policies give access.

    Sorted by the number of policies that still give them access, the most first.
    """
    last: dict[str, int] = {}
    for use in facts.uses:
        last[use.user] = max(use.last, last.get(use.user, 0))
    holds = grouped_once(
        (held.person, held.policy.id)
        for held in held_privileges(index, Members.of(index, groups))
        if held.person is not None and held.policy.id is not None
    )
    rows = [
        (user, last.get(user), len(holds.get(user, ())), tuple(_names(index, holds.get(user, ()))))
        for user in sorted({*last, *holds})
        if user and last.get(user, -1) < cutoff
    ]
    return InsightTable(
        "stopped_users",
        "Users who stopped",
        "Users without any record in these days, and the policies that still give them access.",
        (
            ("user", ColumnKind.TEXT),
            ("last_seen", ColumnKind.TIME),
            ("policies", ColumnKind.NUMBER),
            ("names", ColumnKind.TEXTS),
        ),
        tuple(sorted(rows, key=lambda row: (-row[2], row[0]))),
    )


def _names(index: PolicyIndex, ids: Iterable[int]) -> list[str]:
    return [name_text(index.policies[id_].name, index.policies[id_].zone_name) for id_ in sorted(ids)]
