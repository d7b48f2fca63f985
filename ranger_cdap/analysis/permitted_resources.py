"""Resources on which one request is allowed: names to evaluate, and patterns of those that no policy names.

Law: each resource on which the engine allows the request is among the names, apart from case where a level ignores it,
or matches a pattern, unless some are said to be left out. What matches a pattern that is not undecided, and none of its
exceptions, is allowed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from math import prod
from typing import Final

from ranger_cdap.analysis.logic.formula import FALSE, TRUE, Formula, all_of, any_of, negated
from ranger_cdap.analysis.logic.solver import FormulaSolver, Solution
from ranger_cdap.analysis.logic.witness import Witness
from ranger_cdap.analysis.open_request import RequestRulingMaker, resource_finder
from ranger_cdap.analysis.symbols.allowing import (
    AllowSource,
    allowed_by,
    levels_of,
    resource_sources,
    super_source,
    tag_sources,
)
from ranger_cdap.analysis.symbols.meeting import Elements, may_meet
from ranger_cdap.analysis.symbols.space import PolicySpace, Region, TagOccurrence, Zone
from ranger_cdap.engine import NO_POLICY, AccessRequest, PolicyEngine
from ranger_cdap.engine.compiled.items import Item
from ranger_cdap.engine.compiled.load import PolicyEntry
from ranger_cdap.engine.compiled.matcher import PatternKind, ResourceMatcher, Tokens, expand
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.compiled.resource_match import PolicyResourceMatcher
from ranger_cdap.engine.compiled.service_def import Path

_ANYTHING: Final = "*"
_WILDCARDS: Final = "*?"
_SHARE: Final = 10
"""Part of all comparisons that one pattern may take."""

_MOST_FILTERS: Final = 64
"""Patterns with which each name is compared before it is evaluated; of more, every name is."""


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Limits of a search.

    `names` and `patterns` in all, the `product` of the values of one policy's levels, `exceptions` per pattern,
    `met`: policies, zones and tags that all patterns together are compared with, and the steps of each solution.
    """

    names: int = 200_000
    patterns: int = 1_000
    product: int = 10_000
    exceptions: int = 20
    met: int = 20_000
    search_steps: int = 5_000
    value_steps: int = 30_000


@dataclass(frozen=True, slots=True)
class LevelPattern:
    """Values of a level in Ranger's syntax, without macros."""

    values: tuple[str, ...]
    excludes: bool = False


@dataclass(frozen=True, slots=True)
class NamedPart:
    """Resources that a policy names, or a zone; neither: all, for super users."""

    levels: tuple[LevelPattern, ...]
    policy_id: int = NO_POLICY
    policy_version: int = NO_POLICY
    zone: Zone = None


@dataclass(frozen=True, slots=True)
class ResourcePattern:
    """Resources that a policy allows; `undecided` if others than the exceptions may be denied, or all.

    Unless `within` is empty, a resource must match one of these as well: the resources of the policy's zone.
    """

    part: NamedPart
    within: tuple[NamedPart, ...] = ()
    exceptions: tuple[NamedPart, ...] = ()
    undecided: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """Names of resources by level, sorted; `left_out` if there are more."""

    names: tuple[tuple[str, ...], ...]
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Patterned:
    """Patterns; `left_out` if there are more."""

    patterns: tuple[ResourcePattern, ...]
    left_out: bool = False


class _ConcernedSpace(PolicySpace):
    """The policies that concern a request; all if tags or super users make others matter (precedence.py, rule 4)."""

    def __init__(self, maker: RequestRulingMaker, access: str) -> None:
        super().__init__(maker)
        self._access = access
        self._mine = maker.mine
        self._concerned: dict[Zone, Sequence[PolicyEntry]] = {}

    def entries(self, zone: Zone) -> Sequence[PolicyEntry]:
        """Return the policies of a zone that concern the request."""
        if self.has_tags or self.superuser is not FALSE:
            return super().entries(zone)
        if zone not in self._concerned:
            self._concerned[zone] = [entry for entry in super().entries(zone) if self._is_concerned(entry)]
        return self._concerned[zone]

    def _is_concerned(self, entry: PolicyEntry) -> bool:
        compiled = (entry.compiled, *(one.compiled for one in entry.substitutes if entry.costly))
        return any(one.may_apply_to(self._mine) for one in compiled)

    def concerns(self, items: Iterable[Item]) -> bool:
        """Return True if one of the items applies to the user and the access type."""
        return any(i.covers(self._access) and self.maker.principals(i.principals) is not FALSE for i in items)

    def met(self, region: Region) -> int:
        """Return the number of policies, zones and tags that a region is compared with."""
        found = len(self.state.zone_table.resources.items)
        if self.has_tags:
            found += len(self._tag_index.meeting(region.path, region.elements, above=True))
        return found + sum(len(self.near(zone, region)) for zone in self.repositories)


@dataclass(frozen=True, slots=True, eq=False)
class _WildSource:
    """Resources, not all named one by one, that an entry or a tag may allow; neither: those of super users."""

    zone: Zone
    elements: Elements
    entry: PolicyEntry | None = None
    occurrence: TagOccurrence | None = None


class PermittedSearch:
    """Search for the resources of one path on which a request is allowed; the request's own resource means nothing."""

    def __init__(
        self,
        engine: PolicyEngine,
        request: AccessRequest,
        path: Path,
        limits: SearchLimits = SearchLimits(),
    ) -> None:
        self._maker = RequestRulingMaker.of_request(engine, request)
        self._space = _ConcernedSpace(self._maker, request.access_type)
        self._request = request
        self._path = path
        self._limits = limits
        self._met = limits.met
        self._solver = FormulaSolver(limits.search_steps)
        self._finder = resource_finder(self._space, request, path, limits.value_steps)

    # --- names --------------------------------------------------------------------------------------------------------

    def named(self) -> Named:
        """Return the names on which the request may be allowed."""
        wild, limit = self._wild, self._limits.names
        found: set[tuple[str, ...]] = set()
        for resource, tokens in self._own_resources():
            for name in self._names(resource, tokens):
                if len(found) >= limit:
                    return Named(tuple(sorted(found)), left_out=True)
                found.add(name)
        if wild:
            tested = [one.elements for one in wild] if len(wild) <= _MOST_FILTERS else [(None,) * len(self._path)]
            for resource, tokens in self._other_resources():
                for name in self._names(resource, tokens):
                    if name in found or not any(self._covers(elements, name) for elements in tested):
                        continue
                    if len(found) >= limit:
                        return Named(tuple(sorted(found)), left_out=True)
                    found.add(name)
        return Named(tuple(sorted(found)))

    def _names(self, resource: PolicyResourceMatcher, tokens: Tokens) -> Iterator[tuple[str, ...]]:
        """Yield the names of a resource, cut to the path; none if a level has wildcards or there are too many."""
        if resource.path[: len(self._path)] != self._path:
            return
        texts = [_texts(element, tokens) for element in resource.elements[: len(self._path)]]
        if all(texts) and prod(map(len, texts)) <= self._limits.product:
            yield from product(*texts)

    def _covers(self, elements: Elements, name: tuple[str, ...]) -> bool:
        pairs = zip(elements, name, strict=True)
        return all(element is None or element.covers(value, self._maker.tokens) for element, value in pairs)

    def _own_resources(self) -> Iterator[tuple[PolicyResourceMatcher, Tokens]]:
        for _, entry in self._allowing:
            for resource in entry.resources:
                if self._fits(resource):
                    yield resource, self._maker.tokens
        for one in self._space.occurrences:
            if one.resource is not None:
                yield one.resource, self._maker.tokens

    def _other_resources(self) -> Iterator[tuple[PolicyResourceMatcher, Tokens]]:
        for repository in self._space.repositories.values():
            for entry in repository.all():
                for resource in entry.resources:
                    yield resource, self._maker.tokens
        for matcher, _ in self._space.state.zone_table.resources.items:
            yield matcher, None

    # --- sources ------------------------------------------------------------------------------------------------------

    @cached_property
    def _allowing(self) -> list[tuple[Zone, PolicyEntry]]:
        space = self._space
        pairs = ((zone, entry) for zone in space.repositories for entry in space.entries(zone))
        return [(zone, entry) for zone, entry in pairs if space.concerns(entry.compiled.allow)]

    def _fits(self, resource: PolicyResourceMatcher) -> bool:
        """Return True if a policy's resource may be one of the path."""
        depth = len(self._path)
        return (
            resource.path[:depth] == self._path
            and (len(resource.path) == depth or resource.last_specific < depth)
            and not resource.matches_nothing
        )

    def _is_wild(self, resource: PolicyResourceMatcher) -> bool:
        if any(element.excludes for element in resource.elements[: len(self._path)]):
            return True
        return next(self._names(resource, self._maker.tokens), None) is None

    @cached_property
    def _wild(self) -> list[_WildSource]:
        path, space = self._path, self._space
        found = []
        if space.superuser is not FALSE:
            found.append(_WildSource(None, (None,) * len(path)))
        for zone, entry in self._allowing:
            for resource in entry.resources:
                if self._fits(resource) and self._is_wild(resource):
                    found.append(_WildSource(zone, levels_of(resource, path), entry))
        for one in space.occurrences:
            if one.resource is not None and self._is_wild(one.resource):
                common = min(len(path), len(one.resource.path))
                if path[:common] == one.resource.path[:common]:
                    found.append(_WildSource(None, levels_of(one.resource, path), occurrence=one))
        return found

    # --- patterns -----------------------------------------------------------------------------------------------------

    def patterned(self) -> Patterned:
        """Return the patterns of resources on which the request is allowed, in the order of the policies."""
        found: dict[ResourcePattern, None] = {}
        for wild in self._wild[: self._limits.patterns]:
            found.update(dict.fromkeys(self._patterns(wild)))
        in_order = sorted(found, key=lambda one: one.part.policy_id)
        return Patterned(tuple(in_order), left_out=len(self._wild) > self._limits.patterns)

    def _patterns(self, wild: _WildSource) -> Iterator[ResourcePattern]:
        """Yield the pattern of a source, for a tag one per policy; none if the request is allowed nowhere there."""
        if not self._affordable(wild):
            policy = wild.entry.compiled if wild.entry else None
            yield ResourcePattern(self._named_part(wild.elements, policy, wild.zone), undecided=True)
            return
        done: set[tuple[int, Zone]] = set()
        for source in self._sources(wild):
            key = (id(source.ruling.policy) if source.ruling else 0, source.zone)
            if key not in done:
                pattern = self._pattern(source)
                if pattern is not None:
                    done.add(key)
                    yield pattern

    def _affordable(self, wild: _WildSource) -> bool:
        """Return True if the comparison with all that the source meets is within the limits, of which it is taken."""
        most = self._limits.met // _SHARE
        if self._met <= 0:
            return False
        met = self._space.met(Region(self._path, wild.elements))
        self._met -= min(met, most)
        return met <= most

    def _sources(self, wild: _WildSource) -> Iterator[AllowSource]:
        space, path, access = self._space, self._path, self._request.access_type
        if wild.occurrence is not None:
            yield from tag_sources(space, wild.occurrence, path, access)
        elif wild.entry is None:
            yield from super_source(space, path, access)
        else:
            wanted = tuple(map(id, wild.elements))
            for source in resource_sources(space, wild.zone, wild.entry, path, access):
                if tuple(map(id, source.region.elements)) == wanted:
                    yield source

    def _pattern(self, source: AllowSource) -> ResourcePattern | None:
        guard = all_of((source.guard, allowed_by(self._space, source)))
        found = self._solved(guard)
        if found.witness is None and found.exact:
            return None
        region, zone = source.region, source.zone
        within = dict(self._zone_parts(region, zone, own=True)) if zone is not None else {}
        exceptions = dict(chain(self._denials(source), self._zone_parts(region, zone, own=False)))
        undecided = (
            found.witness is None
            or not self._request.groups_known
            or len(exceptions) > self._limits.exceptions
            or not found.witness.put_to(self._space.engine)
            or self._adds_wildcards(region.elements)
            or self._may_be_denied(region, within.values(), exceptions.values())
        )
        part = self._named_part(region.elements, source.ruling.policy if source.ruling else None, zone)
        return ResourcePattern(part, tuple(within), tuple(exceptions)[: self._limits.exceptions], undecided)

    def _may_be_denied(self, region: Region, within: Collection[Formula], exceptions: Iterable[Formula]) -> bool:
        """Return True unless it is shown that all of the region but the exceptions is allowed."""
        covered = self._maker.inside(self._path, region.elements)
        zoned = any_of(within) if within else TRUE
        denied = negated(self._space.allowed(region, self._request.access_type))
        found = self._solved(all_of((covered, zoned, negated(any_of(exceptions)), denied)))
        return found.witness is not None or not found.exact

    def _solved(self, guard: Formula) -> Solution[Witness]:
        return self._solver.solve(guard, self._finder)

    # --- parts --------------------------------------------------------------------------------------------------------

    def _denials(self, source: AllowSource) -> Iterator[tuple[NamedPart, Formula]]:
        """Yield the resources on which a policy or a tag may deny in the zone of a source."""
        space, region, access = self._space, source.region, self._request.access_type
        zone = source.zone
        for entry in space.near(zone, region) if zone in space.repositories else ():
            if any(one.denies is not FALSE for one in space.rulings_of(entry, self._path, access)):
                for resource in entry.resources:
                    if self._maker.self_match(resource, self._path, subtree=entry.covers_subtree) is not FALSE:
                        yield from self._met_part(region, levels_of(resource, self._path), entry.compiled, zone)
        for tagged in space.tag_rulings(zone, region, access):
            if tagged.ruling.denies is not FALSE:
                tagged_one = tagged.occurrence.resource
                elements = (None,) * len(self._path) if tagged_one is None else levels_of(tagged_one, self._path)
                yield from self._met_part(region, elements, tagged.ruling.policy, zone)

    def _zone_parts(self, region: Region, zone: Zone, *, own: bool) -> Iterator[tuple[NamedPart, Formula]]:
        """Yield the resources of a zone, or of the others."""
        for matcher, (name, certain) in self._space.state.zone_table.resources.items:
            common = min(len(self._path), len(matcher.path))
            if (name == zone and certain) is own and matcher.path[:common] == self._path[:common]:
                yield from self._met_part(region, levels_of(matcher, self._path), None, name, macros=False)

    def _met_part(
        self, region: Region, elements: Elements, policy: CompiledPolicy | None, zone: Zone, *, macros: bool = True
    ) -> Iterator[tuple[NamedPart, Formula]]:
        if all(may_meet(one, other) for one, other in zip(region.elements, elements, strict=True)):
            inside = self._maker.inside(self._path, elements, macros=macros)
            yield self._named_part(elements, policy, zone, macros=macros), inside

    def _named_part(
        self, elements: Elements, policy: CompiledPolicy | None, zone: Zone, *, macros: bool = True
    ) -> NamedPart:
        levels = self._levels(elements, macros=macros)
        return NamedPart(levels, zone=zone) if policy is None else NamedPart(levels, policy.id, policy.version, zone)

    def _levels(self, elements: Elements, *, macros: bool = True) -> tuple[LevelPattern, ...]:
        tokens = self._maker.tokens if macros else None
        return tuple(
            LevelPattern((_ANYTHING,))
            if element is None or element.match_any
            else LevelPattern(tuple(_expanded(value, element, tokens) for value in element.values), element.excludes)
            for element in elements
        )

    def _adds_wildcards(self, elements: Elements) -> bool:
        """Return True if the value of a macro reads as a wildcard, which it is not."""
        tokens = self._maker.tokens
        return any(
            sum(map(_expanded(value, element, tokens).count, _WILDCARDS)) != sum(map(value.count, _WILDCARDS))
            for element in elements
            if element is not None and element.dynamic
            for value in element.values
        )


def _texts(element: ResourceMatcher, tokens: Tokens) -> tuple[str, ...]:
    """Return the values that a level names, included or excluded; none if one has wildcards."""
    if element.match_any or any(test.kind is not PatternKind.EQUALS for test in element.tests):
        return ()
    texts = (_expanded(test.text, element, tokens) for test in element.tests)
    return tuple(dict.fromkeys(text for text in texts if text not in ("", _ANYTHING)))


def _expanded(text: str, element: ResourceMatcher, tokens: Tokens) -> str:
    return expand(text, element.options, tokens) if element.dynamic and tokens is not None else text
