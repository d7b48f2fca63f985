"""Tally of audit lines: what executors send to the driver, summed before it is sent. Pure.

Law: of each file, the accepted and the rejected lines, marks, lines of other services and those outside of the period
are all its lines, whatever they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeAlias

from ranger_cdap.ranger_model.audit_event import AuditEvent, read_audit_line
from ranger_cdap.ranger_model.strict_json import LONGEST, BadLine
from spark_sync.insights.replay import Redecided

DAY: Final = 86_400_000
MOST_REJECTED: Final = 100
"""Rejected lines that are kept of each part of a file; all are counted."""
SHOWN: Final = 200
"""Characters that are kept of a rejected line."""
_MOST_KEYS: Final = 200_000


class LineSource(NamedTuple):
    """A line with its place: a file, the start of a part of it in bytes, and the content."""

    file: str
    block: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Period:
    """Service whose records count, from `since` until before `until`, both in epoch milliseconds."""

    service: str
    since: int
    until: int


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


class PartCount(NamedTuple):
    """Lines of a part of a file, by what became of them."""

    file: str
    block: int
    lines: int
    accepted: int
    rejected: int
    marks: int
    others: int
    outside: int


class BadPlace(NamedTuple):
    """Rejected line: number within its part, from 1, the reason and the beginning of the text."""

    file: str
    block: int
    number: int
    reason: str
    text: str


Fact: TypeAlias = Use | PartCount | BadPlace
Decide: TypeAlias = Callable[[AuditEvent], Redecided]


def tally(lines: Iterable[LineSource], period: Period, decide: Decide) -> Iterator[Fact]:
    """Yield the facts of lines, those of each part of a file in sequence; equal facts may come several times."""
    sums = _Sums()
    for (file, block), of_part in groupby(lines, key=lambda line: (line.file, line.block)):
        part = _Part(file, block)
        for line in of_part:
            bad = part.read(line.content, period, decide, sums)
            if bad is not None:
                yield bad
            if sums.is_large:
                yield from sums.taken()
        yield part.count()
    yield from sums.taken()


class _Sums:
    """Sums of equal uses, held until they are many."""

    def __init__(self) -> None:
        self._uses: dict[tuple[Any, ...], tuple[int, int, int]] = {}

    @property
    def is_large(self) -> bool:
        return len(self._uses) > _MOST_KEYS

    def add(self, event: AuditEvent, now: Redecided) -> None:
        key = (
            event.user,
            event.access,
            event.type,
            event.resource,
            event.allowed,
            event.policy,
            now.allowed,
            now.policy,
            now.reason,
        )
        times, first, last = self._uses.get(key, (0, event.time, event.time))
        self._uses[key] = times + event.count, min(first, event.time), max(last, event.time)

    def taken(self) -> Iterator[Fact]:
        yield from (Use._make((*key, *found)) for key, found in self._uses.items())
        self._uses.clear()


@dataclass(slots=True)
class _Part:
    """A part of a file and the counts of its lines."""

    file: str
    block: int
    lines: int = 0
    accepted: int = 0
    rejected: int = 0
    marks: int = 0
    others: int = 0
    outside: int = 0

    def count(self) -> PartCount:
        return PartCount(*astuple(self))

    def read(self, content: bytes, period: Period, decide: Decide, sums: _Sums) -> BadPlace | None:
        self.lines += 1
        try:
            event = read_audit_line(_text(content))
        except BadLine as e:
            self.rejected += 1
            if self.rejected > MOST_REJECTED:
                return None
            shown = content[: SHOWN * 4].decode("utf-8", "replace")[:SHOWN]
            return BadPlace(self.file, self.block, self.lines, str(e), shown)
        if event is None:
            self.marks += 1
        elif event.service != period.service:
            self.others += 1
        elif not period.since <= event.time < period.until:
            self.outside += 1
        else:
            self.accepted += 1
            sums.add(event, decide(event))
        return None


def _text(content: bytes) -> str:
    if len(content) > LONGEST:
        raise BadLine(f"longer than {LONGEST} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise BadLine("not UTF-8") from None
