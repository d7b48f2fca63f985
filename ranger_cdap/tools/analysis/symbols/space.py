"""A set of policies by place: the rulings, zones and tags that matter to a part of the resources, and the decision."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ranger_cdap.engine import PolicyEngine
from ranger_cdap.engine.view import (
    UNREADABLE_ZONE,
    UNZONED,
    CompiledPolicy,
    Path,
    PolicyEntry,
    PolicyRepository,
    PolicyResourceMatcher,
    ResourceTag,
)
from ranger_cdap.keyed import remembered
from ranger_cdap.tools.analysis.logic.conditions import TagPlace
from ranger_cdap.tools.analysis.logic.formula import FALSE, TRUE, Formula, all_of, any_of, negated
from ranger_cdap.tools.analysis.symbols.meeting import Elements, MeetingIndex, may_meet
from ranger_cdap.tools.analysis.symbols.precedence import decision
from ranger_cdap.tools.analysis.symbols.symbolic import Ruling, RulingMaker, SymbolicPolicies, SymbolicPolicy

Zone = str | None
"""Zone whose policies decide; None for the policies outside of zones."""


@dataclass(frozen=True, slots=True, eq=False)
class TagOccurrence:
    """A tag on a resource; `resource` is None if it may be on any."""

    resource: PolicyResourceMatcher | None
    tag: ResourceTag


@dataclass(frozen=True, slots=True, eq=False)
class TagRuling:
    """The ruling of a tag policy by one occurrence of its tag."""

    ruling: Ruling
    occurrence: TagOccurrence
    entry: PolicyEntry


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Resources with these levels; the exact part of them is up to the formulas."""

    path: Path
    elements: Elements


class PolicySpace:
    """The policies of one engine, found by the resources they may match.

    Unless `indexed`, every policy counts as near: the two sets match values in different ways.
    """

    def __init__(self, maker: RulingMaker, *, indexed: bool = True) -> None:
        self.maker = maker
        self.engine: PolicyEngine = maker.engine
        self.view = self.engine.view
        self._indexed = indexed
        self._symbols = SymbolicPolicies()
        self._indexes: dict[Zone, tuple[MeetingIndex[PolicyEntry], tuple[PolicyEntry, ...]]] = {}
        # The region is kept, so that no other element gets the identity of one of its elements.
        self._near: dict[Hashable, tuple[Region, list[PolicyEntry]]] = {}
        self._allowed: dict[Hashable, tuple[Region, Formula]] = {}
        self.undenied: dict[Hashable, tuple[Region, Formula]] = {}
        """Cache of `allowing.allowed_by`."""
        self._rulings: dict[tuple[int, Path, str], tuple[Ruling, ...]] = {}
        self._tag_policies: dict[ResourceTag, list[tuple[CompiledPolicy, PolicyEntry]]] = {}
        self.superuser = maker.superuser()

    @cached_property
    def repositories(self) -> Mapping[Zone, PolicyRepository]:
        """Policies by zone."""
        found: dict[Zone, PolicyRepository] = {None: self.view.default}
        found.update(self.view.zones)
        return found

    def entries(self, zone: Zone) -> Sequence[PolicyEntry]:
        """Return the policies of a zone that may matter."""
        return self.repositories[zone].all()

    @property
    def has_tags(self) -> bool:
        """Return True if there are tag policies."""
        return self.view.tag_repository is not None

    def paths(self) -> list[Path]:
        """Return every path that a resource may have, the root first."""
        return sorted({(), *self.view.model.paths.values()}, key=len)

    def knows(self, path: Path) -> bool:
        """Return True if a resource may have this path."""
        return not path or self.view.model.paths.get(path[-1]) == path

    def near(self, zone: Zone, region: Region) -> list[PolicyEntry]:
        """Return the policies of a zone that may match a resource of the region, each once."""
        key = (zone, region.path, tuple(map(id, region.elements)))
        return remembered(self._near, key, lambda: (region, self._found_near(zone, region)))[1]

    def _found_near(self, zone: Zone, region: Region) -> list[PolicyEntry]:
        index, loose = self._index(zone)
        found = index.meeting(region.path, region.elements) if self._indexed else self.entries(zone)
        return list(dict.fromkeys((*found, *loose)))

    def _index(self, zone: Zone) -> tuple[MeetingIndex[PolicyEntry], tuple[PolicyEntry, ...]]:
        if zone not in self._indexes:
            entries = self.entries(zone)
            loose = tuple(entry for entry in entries if entry.costly or entry.covers_subtree)
            pairs = ((e, r) for e in entries if not (e.costly or e.covers_subtree) for r in e.resources)
            self._indexes[zone] = MeetingIndex(pairs if self._indexed else ()), loose
        return self._indexes[zone]

    def symbolic(self, entry: PolicyEntry) -> SymbolicPolicy:
        """Return a policy as symbols."""
        return self._symbols.of(entry.compiled, entry, self.view.compiler)

    def rulings(self, entries: Iterable[PolicyEntry], path: Path, access: str) -> list[Ruling]:
        """Return the rulings of policies on a path, in order of evaluation."""
        found = [ruling for entry in entries for ruling in self.rulings_of(entry, path, access)]
        return sorted(found, key=lambda one: one.policy.sort_key)

    def rulings_of(self, entry: PolicyEntry, path: Path, access: str) -> tuple[Ruling, ...]:
        """Return the ruling of a policy, and of its substitute where the policy takes too many steps to match."""
        key = (id(entry), path, access)
        return remembered(self._rulings, key, lambda: tuple(self._new_rulings(entry, path, access)))

    def _new_rulings(self, entry: PolicyEntry, path: Path, access: str) -> Iterator[Ruling]:
        candidate = self.candidate(entry, path)
        if not entry.costly or entry.covers_subtree:
            if candidate is not FALSE:
                yield self.maker.ruling(self.symbolic(entry), candidate, access)
            return
        key: Hashable = (entry.id, entry.name, bytes(entry.raw))
        too_long = self.maker.table.too_long(f"policy {entry.id}", key)
        yield self.maker.ruling(self.symbolic(entry), all_of((-too_long, candidate)), access)
        for substitute in entry.substitutes:
            symbolic = self._symbols.of(substitute.compiled, substitute, self.view.compiler)
            yield self.maker.ruling(symbolic, all_of((too_long, self.candidate(substitute, path))), access)

    def candidate(self, entry: PolicyEntry, path: Path) -> Formula:
        """Return that a policy's resource is the requested one."""
        return any_of(self.maker.self_match(r, path, subtree=entry.covers_subtree) for r in entry.resources)

    # --- tags ---------------------------------------------------------------------------------------------------------

    @cached_property
    def occurrences(self) -> tuple[TagOccurrence, ...]:
        """Every tag of every resource; none without tag policies."""
        if not self.has_tags:
            return ()
        table = self.view.tag_table
        everywhere = (TagOccurrence(None, tag) for tag in table.everywhere)
        return (*(TagOccurrence(matcher, tag) for matcher, tag in table.resources.items), *everywhere)

    @cached_property
    def _tag_index(self) -> MeetingIndex[TagOccurrence]:
        return MeetingIndex((one, one.resource) for one in self.occurrences if one.resource is not None)

    def tag_rulings(self, zone: Zone, region: Region, access: str) -> list[TagRuling]:
        """Return the rulings of tag policies that may apply to a resource of the region, in order of evaluation."""
        if not self.has_tags or not region.path:
            return []
        near: Iterable[TagOccurrence] = self.occurrences
        if self._indexed:
            everywhere = [one for one in self.occurrences if one.resource is None]
            near = [*self._tag_index.meeting(region.path, region.elements, above=True), *everywhere]
        found = [ruling for one in near for ruling in self.rulings_by_tag(one, zone, region.path, access)]
        return sorted(found, key=lambda one: one.ruling.policy.sort_key)

    def rulings_by_tag(self, one: TagOccurrence, zone: Zone, path: Path, access: str) -> Iterator[TagRuling]:
        """Yield the rulings of the tag policies for one occurrence of a tag (ranger-semantics.md §14.4)."""
        compiler, table = self.view.tag_compiler, self.view.tag_table
        presence = TRUE if one.resource is None else self._presence(one.resource, path)
        if compiler is None or presence is FALSE:
            return
        # Without an enricher, tags of the download can only deny; so can one that may be on any resource.
        certain = one.tag.certain and table.enriched and one.resource is not None
        tag_zone = zone if zone is not None and zone in self.view.tag_zones else UNZONED
        place = TagPlace(one.tag.type, one.tag.attributes)
        period = self.maker.tag_period(one.tag) if one.resource is not None else ()
        for compiled, entry in self._policies_of(one.tag):
            if compiled.zone in (tag_zone, None):
                symbolic = self._symbols.of(compiled, entry, compiler, place)
                ruling = self.maker.ruling(symbolic, presence, access, certain=certain, period=period)
                yield TagRuling(ruling, one, entry)

    def _presence(self, resource: PolicyResourceMatcher, path: Path) -> Formula:
        """Return that a tagged resource is the requested one or above it, or covers all at its level."""
        return (
            self.maker.self_match(resource, path, subtree=False)
            if len(path) < len(resource.path)
            else self.maker.covering(resource, path)
        )

    def _policies_of(self, tag: ResourceTag) -> list[tuple[CompiledPolicy, PolicyEntry]]:
        repository = self.view.tag_repository
        if repository is None:
            return []
        if tag not in self._tag_policies:
            by_policy = {id(entry.compiled): entry for entry in repository.entries}
            self._tag_policies[tag] = [(one, by_policy[id(one)]) for one in repository.of(tag.type)]
        return self._tag_policies[tag]

    # --- zones --------------------------------------------------------------------------------------------------------

    def zones(self, region: Region) -> dict[Zone, Formula]:
        """Return, for each zone that may decide on a resource of the region, that it does (ranger-semantics.md §13)."""
        table, path = self.view.zone_table, region.path
        if not self.view.policies.zones_known:
            return {zone: self.maker.table.in_zone(zone or "") for zone in self.repositories}
        if not path or not (table.resources or table.unreadable_everywhere):
            return {None: TRUE}
        if table.unreadable_everywhere:
            return {UNREADABLE_ZONE: TRUE}
        certain: dict[str, list[Formula]] = {}
        all_: dict[str, list[Formula]] = {}
        uncertain: dict[str, list[Formula]] = {}
        below: list[Formula] = []
        for matcher, (name, is_certain) in table.resources.items:
            levels = zip(matcher.elements, region.elements, strict=False)
            if self._indexed and not all(may_meet(one, other) for one, other in levels):
                continue
            is_below = len(path) < len(matcher.path) and len(path) <= matcher.last_specific
            inside = self._zone_match(matcher, path)
            all_.setdefault(name, []).append(inside)
            if is_below:
                below.append(inside)
            if is_certain:
                certain.setdefault(name, []).append(inside)
            elif not is_below:
                uncertain.setdefault(name, []).append(inside)
        unreadable = any_of(
            all_of((any_of(found), negated(any_of(certain.get(name, ()))))) for name, found in uncertain.items()
        )
        found: dict[Zone, Formula] = {UNREADABLE_ZONE: unreadable}
        inside_of = {name: any_of(each) for name, each in all_.items()}
        for name, inside in inside_of.items():
            others = any_of(formula for other, formula in inside_of.items() if other != name)
            found[name] = all_of((inside, negated(others), negated(any_of(below)), negated(unreadable)))
        alone = any_of(found.values())
        return {zone: formula for zone, formula in {None: negated(alone), **found}.items() if formula is not FALSE}

    def _zone_match(self, matcher: PolicyResourceMatcher, path: Path) -> Formula:
        return (
            FALSE
            if any(element.matches_nothing for element in matcher.elements)
            else self.maker.covering(matcher, path, macros=False)
        )

    # --- decision -----------------------------------------------------------------------------------------------------

    def allowed(self, region: Region, access: str) -> Formula:
        """Return that access to a resource of the region is allowed; of no meaning for other resources."""
        if not self.knows(region.path):
            return FALSE
        key = (region.path, tuple(map(id, region.elements)), access)
        return remembered(self._allowed, key, lambda: (region, self._newly_allowed(region, access)))[1]

    def _newly_allowed(self, region: Region, access: str) -> Formula:
        return any_of(
            all_of((inside, self.allowed_in_zone(zone, region, access))) for zone, inside in self.zones(region).items()
        )

    def allowed_in_zone(self, zone: Zone, region: Region, access: str) -> Formula:
        """Return that the policies of a zone allow access."""
        by_resource = self.rulings(self.near(zone, region), region.path, access)
        by_tags = [one.ruling for one in self.tag_rulings(zone, region, access)]
        return decision(by_tags, by_resource, self.superuser)
