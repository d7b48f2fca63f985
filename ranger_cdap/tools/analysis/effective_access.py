"""Effective access: what a set of policies allows a subject or anyone on a part of the resources, with witnesses.

The rows are disjoint, and together they hold every request in scope that is allowed. `taken` are the denials that take
away access which would be allowed without any denial or exception; of these, a request may be in several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ranger_cdap.collector import gc_paused
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.engine.view import Item, Path, PolicyEntry, ResourceMatcher
from ranger_cdap.tools.analysis.logic.atoms import AtomTable
from ranger_cdap.tools.analysis.logic.formula import FALSE, TRUE, Formula, all_of, any_of, negated
from ranger_cdap.tools.analysis.logic.witness import Witness
from ranger_cdap.tools.analysis.request_search import DEFAULT_TIME, RequestSearch, SearchBudget
from ranger_cdap.tools.analysis.subject import Subject, SubjectRulingMaker, search_of
from ranger_cdap.tools.analysis.symbols.allowing import (
    AccessSource,
    allowed_by,
    before_tag,
    earlier,
    levels_of,
    resource_sources,
    super_source,
    tag_sources,
)
from ranger_cdap.tools.analysis.symbols.space import PolicySpace, Region, TagOccurrence, TagRuling, Zone
from ranger_cdap.tools.analysis.symbols.symbolic import Ruling, RulingMaker, SymbolicItem


@dataclass(frozen=True, slots=True)
class AccessScope:
    """Requests of interest: access types, paths of resources, and `within`, matchers of levels that must be covered.

    Without a subject, anyone's.
    """

    accesses: tuple[str, ...]
    paths: tuple[Path, ...]
    within: Mapping[str, ResourceMatcher]
    subject: Subject | None


@dataclass(frozen=True, slots=True, eq=False)
class ItemAccess:
    """Access for one access type that an item allows, or takes away, where `guard` holds.

    What takes it away is a deny item, an allow exception, or a source without an item: a policy that denies all else.
    It has a witness if it is exact, else doubts.
    """

    source: AccessSource
    guard: Formula
    witness: Witness | None
    doubts: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FoundAccess:
    """Access found; `contradictions` are witnesses that the engine decides otherwise: faults of this analysis."""

    allowed: tuple[ItemAccess, ...]
    taken: tuple[ItemAccess, ...]
    contradictions: tuple[Witness, ...]
    space: PolicySpace
    scope: AccessScope


def effective_access(
    engine: PolicyEngine,
    scope: AccessScope,
    *,
    access_time: int = DEFAULT_TIME,
    budget: SearchBudget = SearchBudget(),  # noqa: B008 - immutable
    denials: bool = True,
) -> FoundAccess:
    """Return the access in scope that a set of policies allows, and unless `denials` is false what it takes away."""
    anyone = RulingMaker(engine, AtomTable(), engine.view.roles.names)
    space = PolicySpace(anyone if scope.subject is None else SubjectRulingMaker.of(engine, scope.subject))
    search = _AccessSearch(space, scope, search_of(space, scope.subject, budget, access_time))
    with gc_paused():
        allowed = tuple(search.allowed())
        taken = tuple(search.taken()) if denials else ()
    return FoundAccess(allowed, taken, tuple(search.search.contradictions), space, scope)


@dataclass(slots=True)
class _AccessSearch:
    space: PolicySpace
    scope: AccessScope
    search: RequestSearch

    # --- allowed ------------------------------------------------------------------------------------------------------

    def allowed(self) -> Iterator[ItemAccess]:
        """Yield the rows, by source: super users, policies in their order, tags."""
        space = self.space
        yield from (
            row
            for path in self._paths()
            for access in self.scope.accesses
            for source in super_source(space, path, access)
            for row in self._allowed_row(source, TRUE)
        )
        unprivileged = negated(space.superuser)
        if unprivileged is FALSE:
            return
        candidates = {zone: list(self._candidates(zone)) for zone in space.repositories}
        rank = {id(entry): n for n, entry in enumerate(e for entries in candidates.values() for e in entries)}
        for zone, entries in candidates.items():
            for entry in entries:
                for path in self._paths():
                    for access in self.scope.accesses:
                        for source in resource_sources(space, zone, entry, path, access):
                            near = space.near(zone, narrowed_to(self.scope, source.region))
                            first = earlier(space, source, near, rank, rank[id(entry)])
                            yield from self._allowed_row(source, all_of((unprivileged, first)))
        yield from self._allowed_by_tags(rank, unprivileged)

    def _allowed_by_tags(self, rank: Mapping[int, int], unprivileged: Formula) -> Iterator[ItemAccess]:
        space = self.space
        order = {id(one): n for n, one in enumerate(space.occurrences)}
        for one in space.occurrences:
            for path in self._paths():
                if one.resource is None or not path:
                    continue
                for access in self.scope.accesses:
                    for source in tag_sources(space, one, path, access):
                        first = before_tag(space, source, narrowed_to(self.scope, source.region), rank, order)
                        yield from self._allowed_row(source, all_of((unprivileged, first)))

    def _allowed_row(self, source: AccessSource, rest: Formula) -> Iterator[ItemAccess]:
        guard = all_of((inside_of(self.space, self.scope, source.region.path), source.guard, source.rest, rest))
        if guard is FALSE:
            return
        narrowed = replace(source, region=narrowed_to(self.scope, source.region))
        guard = all_of((guard, allowed_by(self.space, narrowed)))
        if found := self.search.confirmed(guard, source.region.path, source.access, self._allows):
            yield ItemAccess(source, guard, *found)

    # --- taken away ---------------------------------------------------------------------------------------------------

    def taken(self) -> Iterator[ItemAccess]:
        """Yield the denials and exceptions, by zone and policy, those of resource policies first."""
        space = self.space
        for zone in space.repositories:
            for entry in self._candidates(zone, takes=True):
                for path in self._paths():
                    for access in self.scope.accesses:
                        rulings = space.rulings_of(entry, path, access)
                        if any(one.denies is not FALSE or one.symbolic.allow_exceptions for one in rulings):
                            yield from self._taken_by(zone, entry, path, access, rulings)
        yield from (
            taken
            for one in space.occurrences
            for path in self._paths()
            for access in self.scope.accesses
            for taken in self._taken_by_tag(one, path, access)
        )

    def _taken_by(
        self, zone: Zone, entry: PolicyEntry, path: Path, access: str, rulings: Iterable[Ruling]
    ) -> Iterator[ItemAccess]:
        space, maker = self.space, self.space.maker
        for resource in entry.resources:
            inside = maker.self_match(resource, path, subtree=entry.covers_subtree)
            region = Region(path, levels_of(resource, path))
            if inside is FALSE:
                continue
            near = narrowed_to(self.scope, region)
            others = space.rulings(space.near(zone, near), path, access)
            inside = all_of((inside, space.zones(near).get(zone, FALSE)))
            for ruling in rulings:
                higher = [one.allows for one in others if one.policy.priority > ruling.policy.priority]
                for item, formula in taking_items(ruling, access, maker):
                    guard = all_of((inside, negated(any_of(higher)), formula))
                    yield from self._taken_row(AccessSource(zone, region, access, guard, ruling, item))

    def _taken_by_tag(self, one: TagOccurrence, path: Path, access: str) -> Iterator[ItemAccess]:
        if not path:
            return
        region = Region(path, (None,) * len(path) if one.resource is None else levels_of(one.resource, path))
        for zone, inside in self.space.zones(narrowed_to(self.scope, region)).items():
            for tagged in self.space.rulings_by_tag(one, zone, path, access):
                for item, formula in taking_items(tagged.ruling, access, self.space.maker):
                    guard = all_of((inside, formula))
                    yield from self._taken_row(AccessSource(zone, region, access, guard, tagged.ruling, item, one))

    def _taken_row(self, source: AccessSource) -> Iterator[ItemAccess]:
        access, path = source.access, source.region.path
        guard = all_of((inside_of(self.space, self.scope, path), source.guard))
        if guard is FALSE:
            return
        near = narrowed_to(self.scope, source.region)
        guard = all_of((guard, self._granted(source.zone, near, access), negated(self.space.allowed(near, access))))
        if found := self.search.confirmed(guard, path, access, lambda witness: not self._allows(witness)):
            yield ItemAccess(source, guard, *found)

    def _granted(self, zone: Zone, region: Region, access: str) -> Formula:
        """Return that some item would allow access if nothing denied it."""
        space = self.space
        found = [granting_items(one, space) for one in space.rulings(space.near(zone, region), region.path, access)]
        found += [granting_items(one, space) for one in space.tag_rulings(zone, region, access)]
        return any_of(found)

    # --- both ---------------------------------------------------------------------------------------------------------

    def _paths(self) -> list[Path]:
        return [path for path in self.scope.paths if self.space.knows(path)]

    def _candidates(self, zone: Zone, *, takes: bool = False) -> Iterator[PolicyEntry]:
        """Yield the policies of a zone that may concern the scope, in their order."""
        space = self.space
        entries = space.repositories[zone].all()
        if self.scope.within:
            regions = (Region(path, tuple(map(self.scope.within.get, path))) for path in self._paths())
            met = {id(entry) for region in regions for entry in space.near(zone, region)}
            entries = [entry for entry in entries if id(entry) in met]
        for entry in entries:
            compiled = (entry.compiled, *(one.compiled for one in entry.substitutes if entry.costly))
            if takes and any(one.deny_all_else for one in compiled):
                yield entry
                continue
            sides = [(one.deny, one.allow_exceptions) if takes else (one.allow,) for one in compiled]
            if any(self._concerns(item) for each in sides for side in each for item in side):
                yield entry

    def _allows(self, witness: Witness) -> bool:
        return witness.put_to(self.space.engine)

    def _concerns(self, item: Item) -> bool:
        return self.space.maker.principals(item.principals) is not FALSE


def inside_of(space: PolicySpace, scope: AccessScope, path: Path) -> Formula:
    """Return that a resource of this path is in scope."""
    return all_of(space.maker.table.level(name, scope.within[name]) for name in path if name in scope.within)


def narrowed_to(scope: AccessScope, region: Region) -> Region:
    """Return a region of fewer resources that has all of this one that are in scope."""
    levels = zip(region.path, region.elements, strict=True)
    return Region(region.path, tuple(_narrower(element, scope.within.get(name)) for name, element in levels))


def _narrower(element: ResourceMatcher | None, within: ResourceMatcher | None) -> ResourceMatcher | None:
    return (
        within if within is not None and (element is None or element.match_any or within.exact is not None) else element
    )


def taking_items(ruling: Ruling, access: str, maker: RulingMaker) -> Iterator[tuple[SymbolicItem | None, Formula]]:
    """Yield the items that deny, the denial of all else as None, and the items that except from an allow."""
    yield from ((item, all_of((ruling.denies, formula))) for item, formula in ruling.denying_items)
    if ruling.denies is not FALSE and ruling.policy.deny_all_else:
        yield None, all_of((ruling.denies, *(negated(formula) for _, formula in ruling.denying_items)))
    allowing = any_of(formula for _, formula in ruling.allowing_items)
    for item in ruling.symbolic.allow_exceptions:
        formula = all_of((ruling.candidate, maker.item(item, access, restricts=True), allowing))
        if formula is not FALSE:
            yield item, formula


def granting_items(one: Ruling | TagRuling, space: PolicySpace) -> Formula:
    """Return that an allow item of a policy applies, whatever else the policy says."""
    ruling = one.ruling if isinstance(one, TagRuling) else one
    allowing = any_of(formula for _, formula in ruling.allowing_items)
    conditions = ruling.symbolic.conditions
    if isinstance(one, TagRuling):
        tag = one.occurrence.tag
        if not (tag.certain and space.view.tag_table.enriched and one.occurrence.resource is not None):
            return FALSE
        conditions = (*space.maker.tag_period(tag), *conditions)
    return all_of((ruling.candidate, space.maker.conditions(conditions, restricts=False), allowing))
