"""Wildcards that cover more than there is: narrower values would give the same access to every entity that exists.

Only values whose narrowing can take access and never give any are judged: those of policies that deny nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from ranger_cdap.engine import PolicyEngine
from ranger_cdap.engine.view import (
    Path,
    PatternKind,
    PolicyEntry,
    PolicyResourceMatcher,
    ResourceMatcher,
    compile_element,
)
from ranger_cdap.keyed import grouped
from ranger_cdap.tools.analysis.row_text import Spelling, level_text, principals, resource_text
from ranger_cdap.tools.analysis.symbols.allowing import levels_of
from ranger_cdap.tools.analysis.symbols.space import Zone
from ranger_cdap.tools.analysis.symbols.symbolic import SymbolicPolicies

MAX_NAMES: Final = 5
"""Entities that are worth being named one by one."""

_SPECIAL: Final = frozenset("*?{}")
"""Characters of a name that would mean something else in a policy."""

Resource = Mapping[str, str]
"""Value of each level of an entity, from the root down."""


@dataclass(frozen=True, slots=True)
class OverbroadValue:
    """A value of a policy with wildcards that covers more names than the entities have.

    `enough` are values that cover the same `entities`; none if it covers no entity at all.
    """

    policy_id: int
    policy_name: str
    zone: str
    level: str
    value: str
    resource: str
    who: tuple[str, ...]
    entities: int
    enough: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Overbreadth:
    """Values that are too wide, and the types of resource without any entity, of which nothing can be said."""

    values: tuple[OverbroadValue, ...]
    not_judged: tuple[str, ...]


def overbreadth(
    engine: PolicyEngine,
    entities: Iterable[Resource],
    *,
    kept: Collection[int] = (),
    max_names: int = MAX_NAMES,
    spelling: Spelling = resource_text,
) -> Overbreadth:
    """Return the values of allow policies that cover more than the entities; those with ids in `kept` are not judged.

    A value without any letter, like `*`, means everything of a type and is judged only if there is nothing.
    """
    by_path = grouped((tuple(resource), tuple(resource.values())) for resource in entities)
    judge = _Judge(engine, by_path, max_names, spelling)
    zones: dict[Zone, list[PolicyEntry]] = {None: engine.view.default.all()}
    zones |= {name: repository.all() for name, repository in engine.view.zones.items()}
    found = [
        value
        for zone, entries in zones.items()
        for entry in entries
        if entry.id not in kept and judge.is_judged(entry)
        for value in judge.values(zone, entry)
    ]
    return Overbreadth(tuple(found), tuple(sorted(judge.without_entities)))


@dataclass(eq=False, slots=True)
class _Judge:
    engine: PolicyEngine
    by_path: Mapping[Path, list[tuple[str, ...]]]
    max_names: int
    spelling: Spelling
    _symbols: SymbolicPolicies = field(default_factory=SymbolicPolicies)
    without_entities: set[str] = field(default_factory=set)

    def is_judged(self, entry: PolicyEntry) -> bool:
        policy = entry.compiled
        return bool(policy.allow) and not (
            entry.is_substitute or entry.covers_subtree or policy.has_deny or policy.deny or policy.deny_all_else
        )

    def values(self, zone: Zone, entry: PolicyEntry) -> Iterator[OverbroadValue]:
        for resource in entry.resources:
            if resource.path not in self.by_path:
                self.without_entities |= {resource.path[-1]} if resource.path else set()
                continue
            matched = [*self._matched(zone, resource)]
            for index, element in enumerate(resource.elements[: resource.last_specific + 1]):
                if element.excludes or element.dynamic or element.options.recursive:
                    continue
                for value in element.values:
                    enough = self._enough(element, value, [values[index] for values in matched])
                    if enough is not None:
                        yield self._found(zone, entry, resource, index, value, enough)

    def _matched(self, zone: Zone, resource: PolicyResourceMatcher) -> Iterator[tuple[str, ...]]:
        """Yield the entities that a resource covers: with `*` below a level, those of that level too."""
        for length in range(resource.last_specific + 1, len(resource.path) + 1):
            path = resource.path[:length]
            yield from (
                values
                for values in self.by_path.get(path, ())
                if _covers(resource.elements, values) and self._decides(zone, path, values)
            )

    def _decides(self, zone: Zone, path: Path, values: tuple[str, ...]) -> bool:
        """Return whether the policies of a zone may decide on an entity."""
        zones = self.engine.view.zone_table.of(path, values)
        is_here = len(zones) != 1 if zone is None else zone in zones
        return is_here or not self.engine.view.policies.zones_known

    def _enough(self, element: ResourceMatcher, value: str, names: Sequence[str]) -> _Enough | None:
        """Return values that are narrower and cover the same; None if there are none, or the value has no wildcard."""
        alone = compile_element([value], False, element.options)
        if alone.exact is not None or (alone.tests and alone.tests[0].kind is PatternKind.EQUALS):
            return None
        covered = [name for name in names if alone.covers(name, None)]
        unlike = sorted(set(covered))
        if not unlike:
            return _Enough((), 0)
        if not value.strip("*?") or any(not _SPECIAL.isdisjoint(name) for name in unlike):
            return None
        if len(unlike) <= self.max_names:
            return _Enough(tuple(unlike), len(covered))
        prefix = _common_prefix(unlike[0], unlike[-1])
        test = alone.tests[0]
        if test.kind is PatternKind.STARTS_WITH and len(prefix) > len(test.literal_prefix):
            return _Enough((prefix + "*",), len(covered))
        return None

    def _found(
        self, zone: Zone, entry: PolicyEntry, resource: PolicyResourceMatcher, index: int, value: str, enough: _Enough
    ) -> OverbroadValue:
        symbolic = self._symbols.of(entry.compiled, entry, self.engine.view.compiler)
        return OverbroadValue(
            policy_id=entry.compiled.id,
            policy_name=entry.name,
            zone=zone or "",
            level=resource.path[index],
            value=value,
            resource=self.spelling(resource.path, [*map(level_text, levels_of(resource, resource.path))]),
            who=tuple(dict.fromkeys(one for item in symbolic.allow for one in principals(item))),
            entities=enough.entities,
            enough=enough.values,
        )


@dataclass(frozen=True, slots=True)
class _Enough:
    values: tuple[str, ...]
    entities: int


def _common_prefix(first: str, last: str) -> str:
    """Return what the first and the last of sorted names, and so all of them, begin with."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(one for one, _ in alike)


def _covers(elements: Sequence[ResourceMatcher], values: Sequence[str]) -> bool:
    """Return whether levels cover values; one with macros may, depending on the user."""
    return all(element.dynamic or element.covers(value, None) for element, value in zip(elements, values, strict=False))
