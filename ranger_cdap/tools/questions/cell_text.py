"""Cells as text: the items by which one user has access, their conditions, and on what it depends."""

from __future__ import annotations

from ranger_cdap.tools.analysis.access_paths import Cell, CellItem
from ranger_cdap.tools.analysis.access_row import item_text
from ranger_cdap.tools.analysis.effective_access_rows import conditions_of
from ranger_cdap.tools.analysis.row_text import item_named, named
from ranger_cdap.tools.analysis.symbols.symbolic import ALLOW_EXCEPTIONS


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
