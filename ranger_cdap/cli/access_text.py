"""Rows of access as blocks of text and as JSON; no name from a policy acts on the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from ranger_cdap.analysis.reach_rows import ReachRow
from ranger_cdap.questions.display import visible

WIDTH: Final = 100


def wrapped(text: str, indent: str = "") -> list[str]:
    """Return a text on lines of at most `WIDTH` columns, without control characters."""
    safe = visible(text, keep="")
    return textwrap.wrap(safe, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)


def notes(row: ReachRow) -> Iterator[str]:
    """Yield what limits a row."""
    if row.conditions:
        yield f"if {' and '.join(row.conditions)}"
    yield from (f"except {text}" for text in row.exceptions)
    if row.doubts:
        yield f"undecided: {', '.join(row.doubts)}"


def blocks(
    rows: Iterable[ReachRow], head: Callable[[ReachRow, Sequence[str]], str], by: Callable[[ReachRow], str]
) -> Iterator[str]:
    """Yield the lines of rows; those that differ in their places only are one block, and `head` gets the places."""
    groups: dict[tuple[object, ...], list[ReachRow]] = {}
    for row in rows:
        key = (row.by, row.who, row.accesses, row.conditions, row.exceptions, row.certainty, row.doubts)
        groups.setdefault(key, []).append(row)
    for group in groups.values():
        first = group[0]
        yield from wrapped(head(first, [row.place for row in group]))
        yield from wrapped(by(first), "  ")
        for note in notes(first):
            yield from wrapped(note, "  ")
