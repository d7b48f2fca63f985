"""Rows of an impact for people: the access types of an item on one resource together, with its exceptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ranger_cdap.engine import ADMIN_ACCESS
from ranger_cdap.keyed import grouped
from ranger_cdap.tools.analysis.access_row import AccessRow
from ranger_cdap.tools.analysis.example_request import ExampleRequest
from ranger_cdap.tools.analysis.impact import ChangedAccess, Impact
from ranger_cdap.tools.analysis.logic.formula import Formula, all_of
from ranger_cdap.tools.analysis.request_search import RequestSearch, SearchBudget
from ranger_cdap.tools.analysis.row_resource import RowResource
from ranger_cdap.tools.analysis.row_text import (
    MAX_EXCEPTIONS,
    Spelling,
    conditions,
    item_named,
    level_text,
    named,
    names_of,
    principals,
    resource_text,
)
from ranger_cdap.tools.analysis.symbols.allowing import AccessSource
from ranger_cdap.tools.analysis.symbols.space import PolicySpace

_BUDGET: Final = SearchBudget(search_steps=2_000)


def impact_rows(found: Impact, spelling: Spelling = resource_text) -> list[AccessRow]:
    """Return the access that the new set adds, then that which only the old set allows."""
    row_resource = RowResource(found.pair)
    return [
        *_rows(found.gained, found.pair.new, row_resource, spelling, gained=True),
        *_rows(found.lost, found.pair.old, row_resource, spelling, gained=False),
    ]


def _rows(
    changes: Iterable[ChangedAccess],
    space: PolicySpace,
    row_resource: RowResource,
    spelling: Spelling,
    *,
    gained: bool,
) -> Iterator[AccessRow]:
    groups = grouped(((one.source.place, one.doubts), one) for one in changes)
    search = RequestSearch(space, _BUDGET)
    return (_row(group, search, row_resource, spelling, gained=gained) for group in groups.values())


def _row(
    group: Sequence[ChangedAccess],
    search: RequestSearch,
    row_resource: RowResource,
    spelling: Spelling,
    *,
    gained: bool,
) -> AccessRow:
    space = search.space
    first, source = group[0], group[0].source
    ruling, item, region = source.ruling, source.item, source.region
    is_admin = source.access == ADMIN_ACCESS
    given = space.view.privileged
    supers = (*(f"user {u}" for u in sorted(given.super_users)), *(f"group {g}" for g in sorted(given.super_groups)))
    partial, inside = _is_partial(group, search, ()), list[Formula]()
    elements = row_resource.elements(group, search) if partial else region.elements
    if elements != region.elements:
        inside = [space.maker.table.level(n, e) for n, e in zip(region.path, elements, strict=True) if e is not None]
        partial = _is_partial(group, search, inside)
    levels = tuple(map(level_text, elements))
    return AccessRow(
        gained=gained,
        policy_id=ruling.policy.id if ruling else None,
        policy_name=ruling.policy.name if ruling else "",
        side=item.side if item else "",
        item=item.number if item else None,
        tag=source.occurrence.tag.type if source.occurrence else "",
        zone=source.zone or "",
        who=_who(group, search) if item else supers,
        accesses=tuple(one.source.access for one in group),
        path=region.path,
        levels=levels,
        resource=spelling(region.path, levels),
        item_resource=spelling(region.path, [*map(level_text, region.elements)]) if elements != region.elements else "",
        conditions=conditions(ruling.symbolic, item, ignored=is_admin) if ruling and item else (),
        exceptions=_exceptions(source, search, inside),
        doubts=first.doubts,
        examples={one.source.access: ExampleRequest.of(one.witness, spelling) for one in group if one.witness},
        partial=partial,
    )


def _is_partial(group: Sequence[ChangedAccess], search: RequestSearch, inside: Sequence[Formula]) -> bool:
    """Return whether an exact row has requests inside that do not change, because both sets allow them."""
    return any(
        not one.doubts and not search.finds_none(all_of((one.source.guard, one.otherwise, *inside)), one.source)
        for one in group
    )


def _who(group: Sequence[ChangedAccess], search: RequestSearch) -> tuple[str, ...]:
    """Return the principals of the item that the change concerns; all if none can be distinguished from the others."""
    item = group[0].source.item
    assert item is not None
    every = principals(item)
    if len(every) == 1 or group[0].doubts:
        return every
    formulas = {text: search.space.maker.principals(names_of(text)) for text in every}
    concerned = tuple(
        text
        for text, formula in formulas.items()
        if not all(search.finds_none(all_of((one.guard, formula)), one.source) for one in group)
    )
    return concerned or every


def _exceptions(source: AccessSource, search: RequestSearch, inside: Sequence[Formula]) -> tuple[str, ...]:
    """Return the exceptions of the policy, and the denials of others that the item really meets inside."""
    if source.ruling is None:
        return ()
    space = search.space
    own = source.ruling.symbolic
    found = [item_named(own, item) for item in (*own.allow_exceptions, *own.deny) if item.item.covers(source.access)]
    lowest = source.ruling.policy.priority
    left = 0
    for ruling in space.rulings(space.near(source.zone, source.region), source.region.path, source.access):
        if ruling.symbolic is own or ruling.policy.priority < lowest or not ruling.symbolic.can_deny:
            continue
        if len(found) >= MAX_EXCEPTIONS:
            left += 1
            continue
        if not search.finds_none(all_of((source.guard, ruling.denies, *inside)), source):
            items = [item_named(ruling.symbolic, item) for item, _ in ruling.denying_items]
            found.append("; ".join(items) or f"{named(ruling.symbolic)}, deny all else")
    return (*found, f"up to {left} more denials") if left else tuple(found)
