"""Rows of access as blocks of text and as JSON; no name from a policy acts on the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from ranger_cdap.analysis.reach_rows import ReachRow, conditions_of, item_text
from ranger_cdap.analysis.symbols.symbolic import ALLOW_EXCEPTIONS
from ranger_cdap.analysis.ways import Cell, CellItem
from ranger_cdap.analysis.wording import item_named, named
from ranger_cdap.cli.analysis_documents import level_documents, witness_document
from ranger_cdap.cli.invocation import visible

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


def row_document(row: ReachRow) -> dict[str, Any]:
    """Return a row as JSON."""
    return {
        "policy": None if row.policy_id is None else {"id": row.policy_id, "name": row.policy_name},
        "list": row.side or None,
        "item": row.item,
        "tag": row.tag or None,
        "zone": row.zone or None,
        "who": row.who,
        "accesses": row.accesses,
        "resource": level_documents(row.path, row.levels),
        "conditions": row.conditions,
        "except": row.exceptions,
        "certainty": row.certainty.value,
        "undecided": row.doubts,
        "witnesses": [witness_document(witness) for witness in row.witnesses.values()],
    }


def item_of_cell(one: CellItem) -> str:
    """Return the policy and item, as a person finds them in Ranger."""
    if one.ruling is None:
        return "super users of the service configuration"
    policy, item = one.ruling.policy, one.item
    tags = dict.fromkeys(each.tag.type for each in one.occurrences)
    return item_text(
        policy.id, policy.name, item.side if item else "", item.number if item else None, tags, one.zone or ""
    )


def conditions_of_item(one: CellItem, access: str) -> tuple[str, ...]:
    """Return the conditions under which an item applies."""
    return conditions_of(one.ruling, one.item, access, one.occurrences) if one.ruling is not None else ()


def dependence(cell: Cell) -> str:
    """Return on what an access depends: `if from 10.1.*, unless at 00:00-06:00 UTC (policy 7, deny item 1)`."""
    each = [conditions_of_item(one, cell.access) for one in cell.ways]
    alternatives = list(dict.fromkeys(" and ".join(texts) for texts in each)) if all(each) else []
    unless = []
    for one in cell.denying:
        texts = conditions_of_item(one, cell.access)
        if one.effective and one.ruling is not None:
            by = (
                item_named(one.ruling.symbolic, one.item)
                if one.item
                else f"{named(one.ruling.symbolic)}, deny all else"
            )
            excepts = one.item is not None and one.item.side == ALLOW_EXCEPTIONS
            unless.append(
                f"{' and '.join(texts)} ({by})" if texts else f"{'excepted' if excepts else 'denied'} by {by}"
            )
    parts = [f"if {' or '.join(alternatives)}"] if alternatives else []
    parts += [f"unless {' or '.join(dict.fromkeys(unless))}"] if unless else []
    return ", ".join(parts)
