"""Items of a set of policies that may allow access, each with its part of the requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ranger_cdap.engine import ADMIN_ACCESS
from ranger_cdap.engine.view import Path, PolicyEntry, PolicyResourceMatcher
from ranger_cdap.keyed import remembered
from ranger_cdap.tools.analysis.logic.formula import FALSE, TRUE, Formula, all_of, any_of, negated
from ranger_cdap.tools.analysis.symbols.meeting import Elements
from ranger_cdap.tools.analysis.symbols.precedence import decision_given_allow
from ranger_cdap.tools.analysis.symbols.space import PolicySpace, Region, TagOccurrence, Zone
from ranger_cdap.tools.analysis.symbols.symbolic import Ruling, SymbolicItem


@dataclass(frozen=True, slots=True, eq=False)
class AccessSource:
    """Something that may allow access, or take it away: an item of a policy, on a resource or by a tag there.

    Without a ruling these are the super users; without an item, but a ruling, a policy that denies all else. `guard`
    holds where an item itself allows: in its zone, on its resource, without exceptions of its policy. `rest` holds
    where sources of the same place that come first do not.
    """

    zone: Zone
    region: Region
    access: str
    guard: Formula
    ruling: Ruling | None = None
    item: SymbolicItem | None = None
    occurrence: TagOccurrence | None = None
    rest: Formula = TRUE

    @property
    def place(self) -> tuple[object, ...]:
        """Zone, policy, item, tag and resource, which the access types of one row share."""
        policy = self.ruling.policy if self.ruling else None
        region = (self.region.path, tuple(map(id, self.region.elements)))
        is_admin = self.access == ADMIN_ACCESS
        return self.zone, id(policy), id(self.item), id(self.occurrence), region, is_admin


def levels_of(resource: PolicyResourceMatcher, path: Path) -> Elements:
    """Return the levels of a resource for a path; levels below the resource are open."""
    elements = resource.elements[: len(path)]
    return (*elements, *(None,) * (len(path) - len(elements)))


def resource_sources(
    space: PolicySpace, zone: Zone, entry: PolicyEntry, path: Path, access: str
) -> Iterator[AccessSource]:
    """Yield the allow items of a policy on a path, disjoint from each other."""
    rulings = [one for one in space.rulings_of(entry, path, access) if one.allows is not FALSE]
    if not rulings:
        return
    other_resources: list[Formula] = []
    for resource in entry.resources:
        inside = space.maker.self_match(resource, path, subtree=entry.covers_subtree)
        if inside is FALSE:
            continue
        region = Region(path, levels_of(resource, path))
        zoned = space.zones(region).get(zone, FALSE)
        apart = negated(any_of(other_resources))
        for ruling in rulings:
            part = all_of((zoned, inside, apart, ruling.open_to_allow))
            yield from (
                AccessSource(zone, region, access, guard, ruling, item, rest=rest)
                for item, guard, rest in _disjoint(ruling, part)
            )
        other_resources.append(inside)


def tag_sources(space: PolicySpace, one: TagOccurrence, path: Path, access: str) -> Iterator[AccessSource]:
    """Yield the allow items of the policies for one tag of a resource, disjoint from each other."""
    if one.resource is None:
        return  # a tag that may be on any resource allows nothing
    region = Region(path, levels_of(one.resource, path))
    before: list[Formula] = []
    for zone, inside in space.zones(region).items():
        for tagged in space.rulings_by_tag(one, zone, path, access):
            part = all_of((inside, tagged.ruling.open_to_allow, negated(any_of(before))))
            yield from (
                AccessSource(zone, region, access, guard, tagged.ruling, item, one, rest)
                for item, guard, rest in _disjoint(tagged.ruling, part)
            )
            before.append(all_of((inside, tagged.ruling.allows)))


def _disjoint(ruling: Ruling, part: Formula) -> Iterator[tuple[SymbolicItem, Formula, Formula]]:
    """Yield each allow item with its guard within a part, and that no item before it matches."""
    before: list[Formula] = []
    for item, formula in ruling.allowing_items:
        guard = all_of((part, formula))
        if guard is not FALSE:
            yield item, guard, negated(any_of(before))
        before.append(formula)


def super_source(space: PolicySpace, path: Path, access: str) -> Iterator[AccessSource]:
    """Yield the access of super users to everything."""
    if space.superuser is not FALSE:
        yield AccessSource(None, Region(path, (None,) * len(path)), access, space.superuser)


def allowed_by(space: PolicySpace, source: AccessSource) -> Formula:
    """Return that access is allowed where the guard of a source holds; the set has the policy of the source."""
    if space.has_tags or space.superuser is not FALSE or source.ruling is None:
        return space.allowed(source.region, source.access)
    return _undenied(space, source)


def _undenied(space: PolicySpace, source: AccessSource) -> Formula:
    assert source.ruling is not None
    region, lowest = source.region, source.ruling.policy.priority
    key = (source.zone, region.path, tuple(map(id, region.elements)), source.access, lowest)
    return remembered(space.undenied, key, lambda: (region, _new_undenied(space, source, lowest)))[1]


def _new_undenied(space: PolicySpace, source: AccessSource, lowest: int) -> Formula:
    near = space.near(source.zone, source.region) if source.zone in space.repositories else []
    denying = [entry for entry in near if entry.compiled.has_deny and entry.compiled.priority >= lowest]
    if not denying:
        return TRUE
    lowest_denial = min(entry.compiled.priority for entry in denying)
    relevant = {id(entry): entry for entry in denying}
    relevant |= {id(entry): entry for entry in near if entry.compiled.priority > lowest_denial}
    return decision_given_allow(space.rulings(relevant.values(), source.region.path, source.access), lowest)


def earlier(
    space: PolicySpace, source: AccessSource, entries: Iterable[PolicyEntry], rank: dict[int, int], own: int
) -> Formula:
    """Return that no item of the given policies before this one allows alone."""
    before = (entry for entry in entries if rank.get(id(entry), own) < own)
    rulings = (ruling for entry in before for ruling in space.rulings_of(entry, source.region.path, source.access))
    return negated(any_of(ruling.allows for ruling in rulings))


def before_tag(
    space: PolicySpace, source: AccessSource, region: Region, rank: Mapping[int, int], order: Mapping[int, int]
) -> Formula:
    """Return that on a region no ranked policy, and no tag before that of the source, allows alone."""
    entries = [entry for entry in space.near(source.zone, region) if id(entry) in rank]
    allows = [one.allows for entry in entries for one in space.rulings_of(entry, region.path, source.access)]
    own, tagged = order[id(source.occurrence)], space.tag_rulings(source.zone, region, source.access)
    allows += (one.ruling.allows for one in tagged if order[id(one.occurrence)] < own)
    return negated(any_of(allows))
