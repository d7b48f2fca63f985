"""`ChainVerifier`: reads the lines of chained audit files in order and finds breaks in the chain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

from ranger_cdap.audit.chain import ChainLine, Link, read_line
from ranger_cdap.audit.file import LONGEST_LINE

_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """Position in a file; lines count from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Break:
    """Break of the chain at a line; `is_benign` if a crash explains it and no record is missing."""

    place: Place
    what: str
    is_benign: bool = False


@dataclass(frozen=True, slots=True)
class _Foreign:
    """Line outside the chain; the next one may acknowledge it."""

    place: Place
    digest: str
    what: str


class ChainVerifier:
    """Line-by-line verifier that keeps only the last line, so that memory is bounded.

    Law: if no break is found, the lines are the records `first` to `last` of one chain, each as it was written.
    `expected` are links that must occur; each is removed once seen.
    """

    def __init__(self, expected: Collection[Link] = ()) -> None:
        self.records = 0
        self.first: Link | None = None
        self.last: Link | None = None
        self.expected = set(expected)
        self._foreign: _Foreign | None = None
        self._place = Place("", 0)

    def read(self, place: Place, line: bytes) -> Iterator[Break]:
        """Yield the breaks of a line, passed with its end, or of the line before."""
        self._place = place
        whole = line.endswith(b"\n")
        content = line[:-1] if whole else line
        found = read_line(content) if whole else None
        yield from self._report_foreign(found)
        if found is None:
            what = "is not a record of the chain" if whole else "is cut off: it has no line end"
            self._foreign = _Foreign(place, sha256(content).hexdigest(), what)
            return
        self.records += 1
        yield from (Break(place, what) for what in self._defects(found))
        self.first = self.first or found.link
        self.last = found.link
        if found.is_intact:
            self.expected.discard(found.link)

    def end(self) -> Iterator[Break]:
        """Yield the breaks of the last line, and the expected records that did not occur."""
        yield from self._report_foreign(None)
        yield from (
            Break(self._place, f"record {link.number} with the expected hash is not in these files")
            for link in sorted(self.expected, key=lambda link: link.number)
        )

    def _report_foreign(self, following: ChainLine | None) -> Iterator[Break]:
        foreign, self._foreign = self._foreign, None
        if foreign is None:
            return
        if following is not None and following.acknowledged == foreign.digest:
            what = "is a piece of a record that a crash cut off; the next record acknowledges it"
            yield Break(foreign.place, what, is_benign=True)
        else:
            yield Break(foreign.place, foreign.what)

    def _defects(self, found: ChainLine) -> Iterator[str]:
        number, last = found.link.number, self.last
        if not found.is_intact:
            yield f"record {number} was changed: its hash does not match its bytes"
        if last is None:
            return
        if number > last.number + 1:
            missing = number - last.number - 1
            which = f"record {last.number + 1}" if missing == 1 else f"records {last.number + 1} to {number - 1}"
            yield f"{which} missing before record {number}"
        elif number == 1:
            yield f"another chain begins after record {last.number}"
        elif number <= last.number:
            yield f"record {number} is repeated or out of order: it follows record {last.number}"
        elif found.prev != last.hash:
            yield f"record {number} does not follow the record before it: one of them was replaced"


def lines_of(file: BinaryIO, name: str) -> Iterator[tuple[Place, bytes]]:
    """Yield the lines with their ends; only the beginning of a line longer than any record."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        yield Place(name, number), line
        while not line.endswith(b"\n") and (line := file.readline(_BLOCK)):
            pass


def verify_lines(verifier: ChainVerifier, lines: Iterable[tuple[Place, bytes]]) -> Iterator[Break]:
    """Yield all breaks in the lines."""
    for place, line in lines:
        yield from verifier.read(place, line)
    yield from verifier.end()


def rotated_files(path: Path) -> list[Path]:
    """Return an audit file and its rotated ones, oldest first."""
    older: list[Path] = []
    while (older_path := Path(f"{path}.{len(older) + 1}")).exists():
        older.append(older_path)
    return [*reversed(older), *([path] if path.exists() else [])]
