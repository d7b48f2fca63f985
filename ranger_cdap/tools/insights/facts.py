"""Facts of an audit: what became of its lines, and equal accesses summed, decided again by other policies.

Law: of each file, the accepted and the rejected lines, marks, lines of other services and those outside of the period
are all its lines, whatever they hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from ranger_cdap.audit.verify import Place
from ranger_cdap.ranger_model.audit_event import AuditEvent, read_audit_line
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.strict_json import BadLine, text_of

DAY: Final = 86_400_000
MOST_REJECTED: Final = 100
"""Rejected lines that are kept; all are counted."""
SHOWN: Final = 200
"""Characters that are kept of a rejected line."""


@dataclass(frozen=True, slots=True)
class Period:
    """Service whose records count, from `since` until before `until`, both in epoch milliseconds."""

    service: str
    since: int
    until: int


class Redecided(NamedTuple):
    """Decision on an event now: allowed, and by which policy; None and the reason if it was not replayed."""

    allowed: bool | None
    policy: int = -1
    reason: str = ""


Decide: TypeAlias = Callable[[AuditEvent], Redecided]


class Use(NamedTuple):
    """Equal events, as many `times`, between `first` and `last`, in epoch milliseconds.

    `allowed` and `policy` are as recorded, `now` and `by` as replayed; `now` is None with the reason in `why`.
    """

    user: str
    access: str
    type: str
    resource: str
    allowed: bool
    policy: int
    now: bool | None
    by: int
    why: str
    times: int
    first: int
    last: int


@dataclass(slots=True)
class LineCounts:
    """Lines of an audit or a file of it, by what became of them; `lines` is the sum of the others."""

    lines: int = 0
    accepted: int = 0
    rejected: int = 0
    marks: int = 0
    others: int = 0
    outside: int = 0


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """Rejected line by its place: the file, and the number of the line, from 1."""

    file: str
    line: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class AuditFacts:
    """All that is known of an audit: its lines by file, the first rejected ones, and its uses."""

    files: tuple[tuple[str, LineCounts], ...]
    rejected: tuple[RejectedLine, ...]
    uses: tuple[Use, ...]

    @property
    def lines(self) -> LineCounts:
        """Return the counts of all files."""
        sums = Counter[str]()
        for _, counts in self.files:
            sums.update(asdict(counts))
        return LineCounts(**sums)

    @property
    def accesses(self) -> int:
        """Return the number of accesses of the accepted lines, each counted as often as it says."""
        return sum(use.times for use in self.uses)

    @property
    def not_replayed(self) -> dict[str, int]:
        """Return the number of accesses that were not decided again, by reason, the most frequent first."""
        found: Counter[str] = Counter()
        for use in self.uses:
            if use.why:
                found[use.why] += use.times
        return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def read_facts(
    lines: Iterable[tuple[Place, bytes]], period: Period, decide: Decide, before: Decide | None = None
) -> AuditFacts:
    """Return the facts of lines; `before` decides in place of what was recorded."""
    files, rejected, uses = dict[str, LineCounts](), list[RejectedLine](), dict[tuple[Any, ...], tuple[int, int, int]]()
    for place, content in lines:
        counts = files.setdefault(place.file, LineCounts())
        counts.lines += 1
        try:
            event = read_audit_line(text_of(content.rstrip(b"\r\n")))
        except BadLine as e:
            counts.rejected += 1
            if len(rejected) < MOST_REJECTED:
                shown = content[: SHOWN * 4].decode("utf-8", "replace")[:SHOWN]
                rejected.append(RejectedLine(place.file, place.line, str(e), shown.rstrip("\r\n")))
            continue
        if event is None:
            counts.marks += 1
        elif event.service != period.service:
            counts.others += 1
        elif not period.since <= event.time < period.until:
            counts.outside += 1
        else:
            counts.accepted += 1
            _add(uses, event, decide(event), before(event) if before else None)
    found = [Use._make((*key, *sums)) for key, sums in uses.items()]
    ordered = sorted(found, key=lambda use: (*use[:6], str(use.now), *use[7:]))
    return AuditFacts(tuple(sorted(files.items())), tuple(rejected), tuple(ordered))


def _add(
    uses: dict[tuple[Any, ...], tuple[int, int, int]], event: AuditEvent, now: Redecided, before: Redecided | None
) -> None:
    if before is not None and before.allowed is not None:
        event = replaced(event, allowed=before.allowed, policy=before.policy)
    answers = (event.allowed, event.policy, now.allowed, now.policy, now.reason)
    key = (event.user, event.access, event.type, event.resource, *answers)
    times, first, last = uses.get(key, (0, event.time, event.time))
    uses[key] = times + event.count, min(first, event.time), max(last, event.time)
