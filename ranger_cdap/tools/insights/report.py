"""Report of insights: what was read, what limits the answers, and tables. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from ranger_cdap.tools.insights.facts import AuditFacts, Period, RejectedLine
from ranger_cdap.tools.insights.table import ColumnKind, InsightTable, iso

_MOST_USERS = 1000


@dataclass(frozen=True, slots=True)
class InsightReport:
    """Insights of one audit for one service; times in epoch milliseconds. `first` and `last` are those of its records.

    `users` are the users of the audit; the groups of `unknown_users` are not known: as many as `_MOST_USERS` are named.
    """

    service: str
    now: int
    since: int
    until: int
    first: int
    last: int
    facts: AuditFacts
    users: int
    unknown_users: tuple[str, ...]
    tables: tuple[InsightTable, ...]

    @classmethod
    def of(
        cls,
        facts: AuditFacts,
        period: Period,
        known_users: Collection[str],
        tables: Sequence[InsightTable],
        *,
        now: int,
    ) -> Self:
        """Return the report of these facts, which have at least one use, with tables about them."""
        return cls(
            service=period.service,
            now=now,
            since=period.since,
            until=period.until,
            first=min(use.first for use in facts.uses),
            last=max(use.last for use in facts.uses),
            facts=facts,
            users=len({use.user for use in facts.uses}),
            unknown_users=tuple(sorted({use.user for use in facts.uses if use.user} - set(known_users))),
            tables=(*tables, _rejected(facts.rejected)),
        )

    def document(self) -> dict[str, Any]:
        """Return the report for programs."""
        facts = self.facts
        return {
            "service": self.service,
            "time": iso(self.now),
            "period": {"since": iso(self.since), "until": iso(self.until)},
            "records": {"first": iso(self.first), "last": iso(self.last)},
            "lines": asdict(facts.lines),
            "files": [{"file": name, **asdict(counts)} for name, counts in facts.files],
            "accesses": facts.accesses,
            "users": self.users,
            "users_without_known_groups": {
                "count": len(self.unknown_users),
                "names": self.unknown_users[:_MOST_USERS],
            },
            "not_replayed": [{"reason": why, "accesses": count} for why, count in facts.not_replayed.items()],
            **{table.name: table.documents() for table in self.tables},
        }


def _rejected(lines: Sequence[RejectedLine]) -> InsightTable:
    return InsightTable(
        "rejected",
        "Rejected lines",
        "The first lines that are no audit records; all of them are counted above.",
        (
            ("file", ColumnKind.TEXT),
            ("line", ColumnKind.NUMBER),
            ("reason", ColumnKind.TEXT),
            ("text", ColumnKind.TEXT),
        ),
        tuple((one.file, one.line, one.reason, one.text) for one in lines),
    )
