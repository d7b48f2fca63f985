"""Rows of effective access: the access types of an item on one resource together, and its part of a pattern."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ranger_cdap.engine import ADMIN_ACCESS, PolicyEngine
from ranger_cdap.engine.view import OWNER, ResourceMatcher, compile_element
from ranger_cdap.keyed import grouped
from ranger_cdap.tools.analysis.access_row import AccessRow
from ranger_cdap.tools.analysis.effective_access import (
    FoundAccess,
    ItemAccess,
    inside_of,
    narrowed_to,
)
from ranger_cdap.tools.analysis.example_request import ExampleRequest
from ranger_cdap.tools.analysis.logic.formula import FALSE, Formula, all_of
from ranger_cdap.tools.analysis.logic.level_values import find_value, included
from ranger_cdap.tools.analysis.request_search import SearchBudget
from ranger_cdap.tools.analysis.row_text import (
    MAX_EXCEPTIONS,
    LevelText,
    Spelling,
    conditions,
    item_named,
    level_text,
    named,
    names_of,
    principals,
    resource_text,
)
from ranger_cdap.tools.analysis.subject import Subject, search_of
from ranger_cdap.tools.analysis.symbols.allowing import AccessSource
from ranger_cdap.tools.analysis.symbols.space import Region, TagOccurrence
from ranger_cdap.tools.analysis.symbols.symbolic import Ruling, SymbolicItem

_BUDGET: Final = SearchBudget(search_steps=2_000)


def allowed_rows(found: FoundAccess, spelling: Spelling = resource_text) -> list[AccessRow]:
    """Return the access that is allowed."""
    exceptions = {id(one): _exceptions(one.source, found) for one in found.allowed}
    groups = grouped(((one.source.place, one.doubts, exceptions[id(one)]), one) for one in found.allowed)
    return [_row(group, found, exceptions[id(group[0])], spelling, gained=True) for group in groups.values()]


def taken_rows(found: FoundAccess, spelling: Spelling = resource_text) -> list[AccessRow]:
    """Return the access that denials and exceptions take away."""
    groups = grouped(((one.source.place, one.doubts), one) for one in found.taken)
    return [_row(group, found, (), spelling, gained=False) for group in groups.values()]


def applying(item: SymbolicItem, engine: PolicyEngine, subject: Subject | None) -> tuple[str, ...]:
    """Return the principals of an item that a subject is: `user alice`, `group etl`, `everyone`; without one, all."""
    every = principals(item)
    if subject is None:
        return every
    mine = subject.principals(engine) | ({OWNER} if subject.may_own else set())
    return tuple(text for text in every if not mine.isdisjoint(names_of(text)))


def conditions_of(
    ruling: Ruling, item: SymbolicItem | None, access: str, occurrences: Iterable[TagOccurrence]
) -> tuple[str, ...]:
    """Return the conditions under which an item applies, with the validity of tags."""
    periods = (f"while the tag {one.tag.type} is valid" for one in occurrences if one.tag.schedules)
    of_policy = (condition.text for condition in ruling.symbolic.conditions)
    return (*(conditions(ruling.symbolic, item, ignored=access == ADMIN_ACCESS) if item else of_policy), *periods)


def _row(
    group: Sequence[ItemAccess],
    found: FoundAccess,
    exceptions: tuple[str, ...],
    spelling: Spelling,
    *,
    gained: bool,
) -> AccessRow:
    first, source = group[0], group[0].source
    ruling, item, region = source.ruling, source.item, source.region
    levels, whole = _part(region, found)
    occurrences = (source.occurrence,) if source.occurrence else ()
    return AccessRow(
        gained=gained,
        policy_id=ruling.policy.id if ruling else None,
        policy_name=ruling.policy.name if ruling else "",
        side=item.side if item else "",
        item=item.number if item else None,
        tag=source.occurrence.tag.type if source.occurrence else "",
        zone=source.zone or "",
        who=_who(group, found, item, ruling),
        accesses=tuple(one.source.access for one in group),
        path=region.path,
        levels=levels,
        resource=spelling(region.path, levels),
        whole=whole,
        conditions=conditions_of(ruling, item, source.access, occurrences) if ruling else (),
        exceptions=exceptions,
        doubts=first.doubts,
        examples={
            one.witness.request.access_type: ExampleRequest.of(one.witness, spelling) for one in group if one.witness
        },
    )


def _who(
    group: Sequence[ItemAccess],
    found: FoundAccess,
    item: SymbolicItem | None,
    ruling: Ruling | None,
) -> tuple[str, ...]:
    """Return the principals of the item whose access this is, all if none can be distinguished from the others."""
    space, subject = found.space, found.scope.subject
    if ruling is None:
        given = space.view.privileged
        supers = (*(("u", u) for u in sorted(given.super_users)), *(("g", g) for g in sorted(given.super_groups)))
        held = subject.principals(space.engine) if subject else {f"{kind}:{name}" for kind, name in supers}
        texts = {"u": "user", "g": "group"}
        return tuple(f"{texts[kind]} {name}" for kind, name in supers if f"{kind}:{name}" in held)
    if item is None:
        return ()
    every = applying(item, space.engine, subject)
    if subject is not None or len(every) == 1 or group[0].doubts:
        return every
    formulas = {text: space.maker.principals(names_of(text)) for text in every}
    concerned = tuple(
        text
        for text, formula in formulas.items()
        if any(_may_hold(all_of((one.guard, formula)), one.source, found) for one in group)
    )
    return concerned or every


def _may_hold(formula: Formula, source: AccessSource, found: FoundAccess) -> bool:
    outcome = search_of(found.space, found.scope.subject, _BUDGET).solve(formula, source.region.path, source.access)
    return outcome.witness is not None or not outcome.exact


def _exceptions(source: AccessSource, found: FoundAccess) -> tuple[str, ...]:
    """Return the exceptions of the policy, and the denials of others that the item really meets in scope."""
    if source.ruling is None:
        return ()
    space, path, access = found.space, source.region.path, source.access
    own, lowest = source.ruling.symbolic, source.ruling.policy.priority
    listed = [item for item in own.allow_exceptions if item.item.covers(access)]
    listed += [item for item, _ in source.ruling.denying_items]
    texts = [item_named(own, item) for item in listed if space.maker.principals(item.item.principals) is not FALSE]
    guard, left = all_of((inside_of(space, found.scope, path), source.guard)), 0
    region = narrowed_to(found.scope, source.region)
    tagged = (one.ruling for one in space.tag_rulings(source.zone, region, access))
    for ruling in (*tagged, *space.rulings(space.near(source.zone, region), path, access)):
        if ruling.symbolic is own or ruling.policy.priority < lowest or ruling.denies is FALSE:
            continue
        if len(texts) >= MAX_EXCEPTIONS:
            left += 1
        elif _may_hold(all_of((guard, ruling.denies)), source, found):
            items = [
                item_named(ruling.symbolic, item)
                for item, formula in ruling.denying_items
                if _may_hold(all_of((guard, ruling.denies, formula)), source, found)
            ]
            texts.append("; ".join(items) or f"{named(ruling.symbolic)}, deny all else")
    texts = list(dict.fromkeys(texts))
    return (*texts, f"up to {left} more denials") if left else tuple(texts)


def _part(region: Region, found: FoundAccess) -> tuple[tuple[LevelText, ...], bool]:
    """Return the levels of a region that are in scope, and whether they are all resources in scope."""
    within = found.scope.within
    parts = [_level_part(element, within.get(name)) for name, element in zip(region.path, region.elements, strict=True)]
    return tuple(text for text, _ in parts), all(whole for _, whole in parts)


def _level_part(element: ResourceMatcher | None, within: ResourceMatcher | None) -> tuple[LevelText, bool]:
    if within is None or element is None or element.match_any or element.dynamic:
        open_ = element is None or element.match_any
        return level_text(within if open_ and within is not None else element), open_ or within is None
    plain = included(element)
    if element.excludes:
        untouched = find_value([within, plain], ()) is None
        return level_text(within if untouched else element), untouched
    if find_value([within], [plain]) is None:
        return level_text(within), True
    each = ((value, compile_element([value], False, element.options)) for value in element.values)
    met = tuple(value for value, matcher in each if find_value([within, matcher], ()) is not None)
    return LevelText(met or tuple(element.values)), False
