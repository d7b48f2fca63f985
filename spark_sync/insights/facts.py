"""Facts of an audit, gathered from all its parts. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from spark_sync.insights.tally import BadPlace, Fact, PartCount, Use

MOST_SHOWN: Final = 1000
"""Rejected lines that are kept in all; all are counted."""

_KEY_OF_USE: Final = 9
"""Fields of a `Use` before its sums."""


@dataclass(frozen=True, slots=True)
class LineCounts:
    """Lines of an audit or a file of it, by what became of them; `lines` is the sum of the others."""

    lines: int
    accepted: int
    rejected: int
    marks: int
    others: int
    outside: int


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """Rejected line by its place: the file, and the number of the line, row or document in it, from 1."""

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
        return _sum(counts for _, counts in self.files)

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


def gather(facts: Iterable[Fact], names: Mapping[str, str]) -> AuditFacts:
    """Return the sum of facts; `names` are those for people of all files, also of those without lines."""
    summed = _summed(facts)
    uses = [fact for fact in summed if isinstance(fact, Use)]
    parts = [fact for fact in summed if isinstance(fact, PartCount)]
    bad = [fact for fact in summed if isinstance(fact, BadPlace)]
    return AuditFacts(
        files=tuple(_files(parts, names)),
        rejected=tuple(_places(parts, bad, names))[:MOST_SHOWN],
        uses=tuple(sorted(uses, key=lambda use: (*use[:6], str(use.now), *use[7:]))),
    )


def key_of(fact: Fact) -> tuple[object, ...]:
    """Return what two facts have in common that `merged` makes one."""
    return fact[:_KEY_OF_USE] if isinstance(fact, Use) else fact


def merged(one: Fact, other: Fact) -> Fact:
    """Return the sum of two facts of one key; the same count of lines or rejected line is reported once."""
    if isinstance(one, Use) and isinstance(other, Use):
        times, first, last = one.times + other.times, min(one.first, other.first), max(one.last, other.last)
        return one._replace(times=times, first=first, last=last)
    return one


def _summed(facts: Iterable[Fact]) -> Collection[Fact]:
    found: dict[tuple[object, ...], Fact] = {}
    for fact in facts:
        known = found.get(key := key_of(fact))
        found[key] = fact if known is None else merged(known, fact)
    return found.values()


def _files(parts: Iterable[PartCount], names: Mapping[str, str]) -> Iterator[tuple[str, LineCounts]]:
    of_file: dict[str, list[LineCounts]] = {name: [] for name in names.values()}
    for part in parts:
        of_file.setdefault(names.get(part.file, part.file), []).append(LineCounts(*part[2:]))
    for name, counts in sorted(of_file.items()):
        yield name, _sum(counts)


def _sum(counts: Iterable[LineCounts]) -> LineCounts:
    rows = list(counts)
    return LineCounts(*(sum(getattr(row, name) for row in rows) for name in LineCounts.__slots__))


def _places(parts: Iterable[PartCount], bad: Iterable[BadPlace], names: Mapping[str, str]) -> Iterator[RejectedLine]:
    """Yield the rejected lines by their numbers in the file: the parts of a file follow each other."""
    of_file: dict[str, dict[int, int]] = defaultdict(dict)
    for part in parts:
        of_file[part.file][part.block] = part.lines
    before = {}
    for file, blocks in of_file.items():
        starts = sorted(blocks)
        before[file] = dict(zip(starts, accumulate((blocks[start] for start in starts), initial=0), strict=False))
    found = (
        RejectedLine(names.get(one.file, one.file), before[one.file][one.block] + one.number, one.reason, one.text)
        for one in bad
    )
    yield from sorted(found, key=lambda one: (one.file, one.line))
