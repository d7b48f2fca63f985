"""Impact of a change: the access that one set of policies allows and another does not, row by row, with witnesses.

Only sources that the change can touch are looked at: items of changed policies, and items whose resource a changed
policy with a deny side meets. The rows are disjoint, and together they hold every request that gains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from ranger_cdap.collector import gc_paused
from ranger_cdap.engine import ADMIN_ACCESS, PolicyEngine
from ranger_cdap.engine.view import PolicyEntry
from ranger_cdap.keyed import remembered
from ranger_cdap.tools.analysis.comparison import SetComparison, differences
from ranger_cdap.tools.analysis.logic.atoms import AtomTable
from ranger_cdap.tools.analysis.logic.formula import FALSE, TRUE, Formula, all_of, negated
from ranger_cdap.tools.analysis.logic.witness import Witness
from ranger_cdap.tools.analysis.request_search import DEFAULT_TIME, RequestSearch, SearchBudget
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
from ranger_cdap.tools.analysis.symbols.meeting import on_one_path
from ranger_cdap.tools.analysis.symbols.precedence import SUPER_USER_PRIORITY
from ranger_cdap.tools.analysis.symbols.space import PolicySpace, Region, Zone
from ranger_cdap.tools.analysis.symbols.symbolic import RulingMaker


@dataclass(frozen=True, slots=True, eq=False)
class ChangedAccess:
    """Access for one access type that changes where `guard` holds.

    An exact one has a witness that both engines confirm; one that *may* be has `doubts`: what could not be decided.
    `otherwise` holds where the set that does not allow this access allows what the source does.
    """

    source: AccessSource
    guard: Formula
    otherwise: Formula
    witness: Witness | None
    doubts: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Impact:
    """Access gained and lost; `contradictions` are witnesses that an engine denies: faults of this analysis."""

    gained: tuple[ChangedAccess, ...]
    lost: tuple[ChangedAccess, ...]
    contradictions: tuple[Witness, ...]
    pair: SpacePair


@dataclass(frozen=True, slots=True, eq=False)
class SpacePair:
    """Two sets of policies over one table of atoms."""

    old: PolicySpace
    new: PolicySpace

    @classmethod
    def of(cls, old: PolicyEngine, new: PolicyEngine) -> SpacePair:
        """Return the sets of two engines."""
        table, roles = AtomTable(), old.view.roles.names | new.view.roles.names
        comparable = old.view.model.levels == new.view.model.levels
        makers = (RulingMaker(engine, table, roles) for engine in (old, new))
        return cls(*(PolicySpace(maker, indexed=comparable) for maker in makers))

    @property
    def table(self) -> AtomTable:
        """Atoms of both."""
        return self.new.maker.table


def impact(
    old: PolicyEngine,
    new: PolicyEngine,
    *,
    accesses: Sequence[str] | None = None,
    access_time: int = DEFAULT_TIME,
    budget: SearchBudget = SearchBudget(),  # noqa: B008 - immutable
) -> Impact:
    """Return the access that `new` allows and `old` does not, and the other way round.

    Without `accesses`, all access types of both definitions and delegated administration are compared.
    """
    pair = SpacePair.of(old, new)
    names = [access.name for engine in (old, new) for access in engine.service_def.access_types]
    wanted = tuple(dict.fromkeys((*names, ADMIN_ACCESS) if accesses is None else accesses))
    with gc_paused():
        removed, added = differences(pair.old, pair.new)
        in_old, in_new = (RequestSearch(space, budget, access_time) for space in (pair.old, pair.new))
        gained = _Comparer(pair.old, pair.new, (added, removed), wanted, in_new)
        lost = _Comparer(pair.new, pair.old, (removed, added), wanted, in_old)
        found = tuple(gained.rows()), tuple(lost.rows())
    return Impact(*found, (*in_new.contradictions, *in_old.contradictions), pair)


@dataclass(slots=True)
class _Comparer:
    """Finder of the access that `after` allows and `before` does not."""

    before: PolicySpace
    after: PolicySpace
    differences: tuple[SetComparison, SetComparison]
    accesses: tuple[str, ...]
    search: RequestSearch
    _firsts: dict[tuple[object, ...], tuple[Region, Formula]] = field(default_factory=dict)

    def rows(self) -> Iterator[ChangedAccess]:
        """Yield the rows, by source: super users, policies in their order, tags."""
        more, less = self.differences
        candidates = self._candidates(more, less)
        rank = {id(entry): n for n, entry in enumerate(chain.from_iterable(candidates.values()))}
        privileged = any(self._super_sources(more, less))
        changed = {id(entry) for entries in more.changed.values() for entry in entries}
        for source in self._super_sources(more, less):
            yield from self._row(source, self.before.allowed(source.region, source.access), TRUE)
        unprivileged = negated(self.after.superuser) if privileged else TRUE
        for zone, entries in candidates.items():
            for entry in entries:
                is_same = not more.all_differ and id(entry) not in changed
                for source in self._sources_of(zone, entry):
                    first = self._first(zone, source, rank, rank[id(entry)])
                    allowed = allowed_by if is_same else _allowed_anyhow
                    yield from self._row(source, allowed(self.before, source), all_of((unprivileged, first)))
        yield from self._tag_rows(more, less, rank, unprivileged)

    def _first(self, zone: Zone, source: AccessSource, rank: dict[int, int], own: int) -> Formula:
        """Return that no candidate policy before this one allows alone; the same object for all its items."""
        region = source.region
        key = (zone, region.path, tuple(map(id, region.elements)), source.access, own)
        near = self.after.near(zone, region)
        return remembered(self._firsts, key, lambda: (region, earlier(self.after, source, near, rank, own)))[1]

    def _sources_of(self, zone: Zone, entry: PolicyEntry) -> Iterator[AccessSource]:
        for path in self.after.paths():
            if any(
                self.after.maker.self_match(r, path, subtree=entry.covers_subtree) is not FALSE for r in entry.resources
            ):
                for access in self.accesses:
                    yield from resource_sources(self.after, zone, entry, path, access)

    def _candidates(self, more: SetComparison, less: SetComparison) -> dict[Zone, list[PolicyEntry]]:
        """Return the policies by zone that may allow something new."""
        if more.all_differ:
            return {zone: repository.all() for zone, repository in self.after.repositories.items()}
        touching = self.after.has_tags or self.before.has_tags
        found: dict[Zone, list[PolicyEntry]] = {}
        for zone in self.after.repositories:
            entries = {id(entry): entry for entry in more.changed.get(zone, ())}
            for entry in (*more.changed.get(zone, ()), *less.changed.get(zone, ())):
                if touching or entry.compiled.has_deny:
                    entries |= {id(one): one for one in self._meeting(zone, entry)}
            found[zone] = list(entries.values())
        return found

    def _meeting(self, zone: Zone, entry: PolicyEntry) -> Iterator[PolicyEntry]:
        """Yield the policies of a zone that may match a resource of a policy."""
        yield from (
            near
            for path in self.after.paths()
            for resource in entry.resources
            if self.after.maker.self_match(resource, path, subtree=entry.covers_subtree) is not FALSE
            for near in self.after.near(zone, Region(path, levels_of(resource, path)))
        )

    def _super_sources(self, more: SetComparison, less: SetComparison) -> Iterator[AccessSource]:
        changed = chain(*more.changed.values(), *less.changed.values())
        if more.all_differ or any(entry.compiled.priority >= SUPER_USER_PRIORITY for entry in changed):
            yield from (
                source
                for path in self.after.paths()
                for access in self.accesses
                for source in super_source(self.after, path, access)
            )

    def _tag_rows(
        self, more: SetComparison, less: SetComparison, rank: Mapping[int, int], unprivileged: Formula
    ) -> Iterator[ChangedAccess]:
        """Yield the rows of tag policies: all if tags differ, else those on resources of changed policies."""
        order = {id(one): n for n, one in enumerate(self.after.occurrences)}
        changed = {*chain(*more.changed.values(), *less.changed.values())}
        for one in self.after.occurrences:
            for path in self.after.paths():
                if one.resource is None or not path or not on_one_path(path, one.resource.path):
                    continue
                region = Region(path, levels_of(one.resource, path))
                near = {
                    entry
                    for space in (self.before, self.after)
                    for zone in space.repositories
                    for entry in space.near(zone, region)
                }
                if not more.all_differ and near.isdisjoint(changed):
                    continue
                for access in self.accesses:
                    for source in tag_sources(self.after, one, path, access):
                        first = before_tag(self.after, source, source.region, rank, order)
                        yield from self._row(source, self.before.allowed(region, access), all_of((unprivileged, first)))

    def _row(self, source: AccessSource, allowed_before: Formula, rest: Formula) -> Iterator[ChangedAccess]:
        """Yield the row of a source, if it has any request."""
        guard = all_of((source.guard, source.rest, rest, negated(allowed_before)))
        if guard is FALSE:
            return
        guard = all_of((guard, allowed_by(self.after, source)))
        if found := self.search.confirmed(guard, source.region.path, source.access, self._changes):
            yield ChangedAccess(source, guard, allowed_before, *found)

    def _changes(self, witness: Witness) -> bool:
        return witness.put_to(self.after.engine) and not witness.put_to(self.before.engine)


def _allowed_anyhow(space: PolicySpace, source: AccessSource) -> Formula:
    return space.allowed(source.region, source.access)
