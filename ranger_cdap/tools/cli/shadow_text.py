"""The shadow report as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.tools.cli.shadow_sources import AUDIT, PREDECESSOR, ShadowSource
from ranger_cdap.tools.policies.needed_policies import NeededPolicy
from ranger_cdap.tools.shadow.shadow_report import ShadowChange, ShadowReport, ShadowRow

_SHOWN: Final = 100
_SEVERAL: Final = "The predecessor's audit names no operations: each row is one that its records may have been."


def print_report(
    invocation: Invocation,
    source: ShadowSource,
    found: ShadowReport,
    rows: Sequence[ShadowRow],
    policies: Sequence[NeededPolicy],
) -> None:
    """Print the rows seen most often, and what was counted besides."""
    for change in ShadowChange:
        those = [row for row in rows if row.key.change is change]
        if not those:
            continue
        invocation.console.print(f"{change.value}: {sum(row.count for row in those)}")
        decisive = "missing" if change is ShadowChange.DENIED else "allowed by"
        invocation.print_table(
            ["user", "operation", decisive, "count", "last (UTC)", "now"], [_texts(row) for row in those[:_SHOWN]]
        )
        if (more := len(those) - _SHOWN) > 0:
            invocation.console.print(f"and {more} more rows; --json has them all")
        invocation.console.print()
    if rows and source is PREDECESSOR:
        invocation.console.print(_SEVERAL)
        invocation.console.print()
    counted = [
        *([f"changed: {found.changed}"] if source is not AUDIT else []),
        f"unchanged: {found.unchanged}",
        f"compared with {source.compared_with}",
        f"enforced already: {found.enforced}",
        f"of other services: {found.other_services}",
        f"earlier: {found.earlier}",
        f"rejected: {found.rejected}",
    ]
    invocation.console.print("; ".join(counted))
    if found.undecided:
        invocation.console.print(f"not decided: {found.not_decided}")
        for why, records in sorted(found.undecided.items(), key=lambda one: -one[1].count):
            invocation.console.print(f"  {records.count}: {why}; the first at {records.first}")
    for one in found.places[:_SHOWN]:
        invocation.messages.print(f"warning: {one}: not {source.record}{f': {one.reason}' if one.reason else ''}")
    if policies:
        invocation.console.print(
            f"policies that would close the gaps: {len(policies)} (`--out FILE`, then `policies apply FILE`)"
        )


def _texts(row: ShadowRow) -> list[str]:
    key = row.key
    when = datetime.fromtimestamp(row.last / 1000, UTC).strftime("%Y-%m-%d %H:%M") if row.last else ""
    now = "" if key.change is ShadowChange.ALLOWED else "allowed" if row.closed else "denied"
    return [key.user, key.operation, key.decisive, str(row.count), when, now]


def report_document(
    source: ShadowSource, found: ShadowReport, rows: Sequence[ShadowRow], policies: Sequence[NeededPolicy]
) -> dict[str, object]:
    """Return the whole report as JSON; times in epoch milliseconds, null if the records have none."""
    return {
        "source": source.name,
        "changes": [
            {
                "change": row.key.change.value,
                "user": row.key.user,
                "operation": row.key.operation,
                "resource": row.key.resource,
                "missing": [{"actions": one.actions, "policy": one.policy} for one in row.key.missing],
                "allowed_by": None if row.key.change is ShadowChange.DENIED else row.key.policy,
                "action": row.key.action,
                "reason": row.key.reason,
                "gaps": row.gaps,
                "count": row.count,
                "first": row.first or None,
                "last": row.last or None,
                "closed": row.closed,
            }
            for row in rows
        ],
        "changed": found.changed,
        "unchanged": found.unchanged,
        "enforced": found.enforced,
        "other_services": found.other_services,
        "earlier": found.earlier,
        "rejected": found.rejected,
        "rejected_at": [str(place) for place in found.places],
        "undecided": [
            {"reason": why, "count": those.count, "first_at": str(those.first)}
            for why, those in found.undecided.items()
        ],
        "policies": [policy.document() for policy in policies],
    }
