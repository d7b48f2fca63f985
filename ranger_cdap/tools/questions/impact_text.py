"""Rows of access and of its changes as sentences."""

from __future__ import annotations

from collections.abc import Iterator

from ranger_cdap.tools.analysis.access_row import AccessRow


def headline(row: AccessRow) -> str:
    """Return `group analysts gains write on dataset:ns1.sales.*`."""
    verb = "gain" if row.gained else "lose"
    verb = f"{verb}s" if row.examples else f"may {verb}"
    return f"{', '.join(row.who)} {verb} {', '.join(row.accesses)} on {row.resource}"


def limits(row: AccessRow) -> Iterator[str]:
    """Yield what limits a row, as sentences without a stop."""
    if row.conditions:
        yield f"if {' and '.join(row.conditions)}"
    yield from (f"except {text}" for text in row.exceptions)
    if row.partial:
        yield "in part: both sets allow the rest"
    if row.doubts:
        yield f"undecided: {', '.join(row.doubts)}"
    if row.times:
        yield f"recorded {row.times:,} time{'s' * (row.times != 1)}"


def notes(row: AccessRow) -> Iterator[str]:
    """Yield what limits a row, and an example of it."""
    yield from limits(row)
    yield from [f"for example {example}" for example in row.examples.values()][:1]
