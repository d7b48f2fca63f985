"""Rows of an impact for people: the access types of an item on one resource together, with its exceptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ranger_cdap.analysis.allowing import AllowSource
from ranger_cdap.analysis.formula import Formula, all_of
from ranger_cdap.analysis.impact import Certainty, ChangedAccess, Impact, finder_of
from ranger_cdap.analysis.solver import FormulaSolver
from ranger_cdap.analysis.space import PolicySpace
from ranger_cdap.analysis.witness import Witness
from ranger_cdap.analysis.wording import conditions, item_named, named, names_of, place, principals, values
from ranger_cdap.engine import ADMIN_ACCESS
from ranger_cdap.engine.compiled.service_def import Path

MAX_EXCEPTIONS: Final = 10
"""Denials that a row names; it says how many more there are."""
_STEPS: Final = 2_000


@dataclass(frozen=True, slots=True)
class LevelText:
    """Values of a level; with `excludes`, all others."""

    values: tuple[str, ...]
    excludes: bool


@dataclass(frozen=True, slots=True)
class ImpactRow:
    """Access that changes by one item on one resource; each access type of an exact row has a witness.

    `policy_id` is None for super users.
    """

    policy_id: int | None
    policy_name: str
    item: int | None
    tag: str
    zone: str
    who: tuple[str, ...]
    accesses: tuple[str, ...]
    path: Path
    levels: tuple[LevelText, ...]
    place: str
    conditions: tuple[str, ...]
    exceptions: tuple[str, ...]
    certainty: Certainty
    doubts: tuple[str, ...]
    witnesses: Mapping[str, Witness]
    partial: bool
    """True if the item also covers requests that do not change, because both sets allow them."""

    @property
    def by(self) -> str:
        """The policy and item, as a person finds them in Ranger."""
        if self.policy_id is None:
            return "super users of the service configuration"
        name = f' "{self.policy_name}"' if self.policy_name else ""
        tag = f", by the tag {self.tag}" if self.tag else ""
        zone = f", in zone {self.zone}" if self.zone else ""
        return f"policy {self.policy_id}{name}, item {self.item}{tag}{zone}"


def gained_rows(found: Impact) -> list[ImpactRow]:
    """Return the access that the new set adds."""
    return _rows(found.gained, found.pair.new)


def lost_rows(found: Impact) -> list[ImpactRow]:
    """Return the access that only the old set allows."""
    return _rows(found.lost, found.pair.old)


def _rows(changes: Iterable[ChangedAccess], space: PolicySpace) -> list[ImpactRow]:
    groups: dict[tuple[object, ...], list[ChangedAccess]] = {}
    for one in changes:
        source, policy = one.source, one.source.ruling.policy if one.source.ruling else None
        kinds = (source.access == ADMIN_ACCESS, one.certainty, one.doubts)
        region = (source.region.path, tuple(map(id, source.region.elements)))
        key = (source.zone, id(policy), id(source.item), id(source.occurrence), region, kinds)
        groups.setdefault(key, []).append(one)
    return [_row(group, space) for group in groups.values()]


def _row(group: list[ChangedAccess], space: PolicySpace) -> ImpactRow:
    first, source = group[0], group[0].source
    ruling, item, region = source.ruling, source.item, source.region
    is_admin = source.access == ADMIN_ACCESS
    elements = region.elements
    given = space.state.privileged
    supers = (*(f"user {u}" for u in sorted(given.super_users)), *(f"group {g}" for g in sorted(given.super_groups)))
    return ImpactRow(
        policy_id=ruling.policy.id if ruling else None,
        policy_name=ruling.policy.name if ruling else "",
        item=item.number if item else None,
        tag=source.occurrence.tag.type if source.occurrence else "",
        zone=source.zone or "",
        who=_who(first, space) if item else supers,
        accesses=tuple(one.source.access for one in group),
        path=region.path,
        levels=tuple(LevelText(values(e), e is not None and e.excludes) for e in elements),
        place=place(region.path, elements),
        conditions=conditions(ruling.symbolic, item, ignored=is_admin) if ruling and item else (),
        exceptions=_exceptions(source, space),
        certainty=first.certainty,
        doubts=first.doubts,
        witnesses={one.source.access: one.witness for one in group if one.witness is not None},
        partial=first.certainty is Certainty.EXACT
        and _may_hold(all_of((source.guard, first.otherwise)), source, space),
    )


def _who(change: ChangedAccess, space: PolicySpace) -> tuple[str, ...]:
    """Return the principals of the item that the change concerns; all if none can be told from the others."""
    source = change.source
    assert source.item is not None
    every = principals(source.item)
    if len(every) == 1 or change.certainty is Certainty.MAY:
        return every
    concerned = tuple(
        text
        for text in every
        if _may_hold(all_of((change.guard, space.maker.principals(names_of(text)))), source, space)
    )
    return concerned or every


def _may_hold(formula: Formula, source: AllowSource, space: PolicySpace) -> bool:
    found = FormulaSolver(_STEPS).solve(formula, finder_of(space, source.region.path, source.access))
    return found.witness is not None or not found.exact


def _exceptions(source: AllowSource, space: PolicySpace) -> tuple[str, ...]:
    """Return the exceptions of the policy, and the denials of others that the item really meets."""
    if source.ruling is None:
        return ()
    own = source.ruling.symbolic
    listed = (*own.allow_exceptions, *own.deny)
    found = [item_named(own, item) for item in listed if item.item.covers(source.access)]
    lowest = source.ruling.policy.priority
    left = 0
    for ruling in space.rulings(space.near(source.zone, source.region), source.region.path, source.access):
        if ruling.symbolic is own or ruling.policy.priority < lowest or not ruling.symbolic.can_deny:
            continue
        if len(found) >= MAX_EXCEPTIONS:
            left += 1
            continue
        if _may_hold(all_of((source.guard, ruling.denies)), source, space):
            items = [item_named(ruling.symbolic, item) for item, _ in ruling.denying_items]
            found.append("; ".join(items) or f"{named(ruling.symbolic)}, deny all else")
    return (*found, f"up to {left} more denials") if left else tuple(found)
