"""Rows of patterns in a matrix: the entities by which all of a row are decided.

A row stands for the entities that its pattern matches and that have no row of their own: no row is their name, and no
row with a narrower pattern matches them. Policies know an entity by the matchers that cover its names, so one entity
stands for all that are covered by the same matchers, of the policies that may apply to the subject.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from math import prod
from typing import Final

from msgspec import structs

from ranger_cdap.cdap.entity import PROGRAM_TYPES, EntityId, entity_id, entity_type, to_resource
from ranger_cdap.cdap.pattern import STAR, EntityPattern
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.engine.view import (
    PatternKind,
    PolicyEntry,
    PolicyResourceMatcher,
    ResourceMatcher,
    ValueTest,
    compile_element,
    fold,
)
from ranger_cdap.errors import InvalidEntity
from ranger_cdap.keyed import grouped_once, remembered
from ranger_cdap.tools.analysis.logic.atoms import AtomTable
from ranger_cdap.tools.analysis.logic.level_values import Undecided, included, without_macros
from ranger_cdap.tools.analysis.name_classes import NameClass, name_classes
from ranger_cdap.tools.analysis.subject import Subject, exactly
from ranger_cdap.tools.analysis.symbols.space import PolicySpace, Region
from ranger_cdap.tools.analysis.symbols.symbolic import RulingMaker

_MOST_CLASSES: Final = 12
"""Classes of names of one level; to split them further takes time that grows with their number."""

MOST_ENTITIES: Final = _MOST_CLASSES**2
"""Entities that are asked about for one row, subject and action: all classes of two levels; of more it is a few."""

_A_FEW: Final = 4

_MOST_NAMED: Final = 5
_ANY: Final = "#"
"""A character of no name and no pattern: any text in place of a star."""


@dataclass(frozen=True, slots=True)
class RowEntities:
    """Entities that stand for all of a row; if `undecided` says why, only for a part of it."""

    entities: tuple[EntityId, ...]
    undecided: str


@dataclass(frozen=True, slots=True)
class _Teller:
    """Matchers of open levels by which one resource of a policy distinguishes entities of a row.

    It does for the principals of the items of an `entry`, without one for all.
    """

    levels: tuple[tuple[str, ResourceMatcher], ...]
    entry: PolicyEntry | None

    @property
    def costly(self) -> str:
        """Return that the policy is not matched with all names; empty if it is."""
        return (
            f"policy {self.entry.id} takes too many steps to match some names"
            if self.entry is not None and self.entry.costly
            else ""
        )

    def concerns(self, principals: frozenset[str], access: str) -> bool:
        """Return False if the policy decides nothing on an access of these principals."""
        if self.entry is None or self.entry.costly or self.entry.compiled.deny_all_else:
            return True
        policy = self.entry.compiled
        items = (*policy.deny, *policy.deny_exceptions, *policy.allow, *policy.allow_exceptions)
        return any(item.covers(access) and not item.principals.isdisjoint(principals) for item in items)


@dataclass(frozen=True, slots=True)
class _PatternRow:
    """A row, what policies there distinguish, and whether that depends on the user."""

    pattern: EntityPattern
    tellers: tuple[_Teller, ...]
    dynamic: bool
    known: dict[Hashable, RowEntities] = field(default_factory=dict)


class PatternRows:
    """The patterns among the rows of a matrix, by the policies of one engine."""

    def __init__(self, engine: PolicyEngine, instance: str, rows: Sequence[EntityId | EntityPattern]) -> None:
        self._engine = engine
        self._instance = instance
        self._space = PolicySpace(RulingMaker(engine, AtomTable(), engine.view.roles.names))
        self._named = grouped_once((row.type, row.parts) for row in rows if isinstance(row, EntityId))
        self._patterns = [row for row in rows if isinstance(row, EntityPattern)]
        self._rows: dict[EntityPattern, _PatternRow] = {}

    def of(self, pattern: EntityPattern, subject: Subject, access: str, *, groups_known: bool = True) -> RowEntities:
        """Return the entities of a row; of a subject whose groups are not known, by all policies."""
        row = remembered(self._rows, pattern, partial(self._row, pattern))
        mine = subject.principals(self._engine)
        tellers = tuple(one for one in row.tellers if not groups_known or one.concerns(mine, access))
        key = (tuple(map(id, tellers)), subject.user if row.dynamic else None)
        return remembered(row.known, key, partial(self._found, pattern, tellers, subject.tokens))

    # --- policies -----------------------------------------------------------------------------------------------------

    def _row(self, pattern: EntityPattern) -> _PatternRow:
        tellers = [
            _Teller(levels, entry)
            for matcher, entry in self._near(pattern)
            if (levels := tuple(self._open_levels(pattern, matcher))) or (entry is not None and entry.costly)
        ]
        dynamic = any(element.dynamic for one in tellers for _, element in one.levels)
        return _PatternRow(pattern, tuple(tellers), dynamic)

    def _near(self, pattern: EntityPattern) -> Iterator[tuple[PolicyResourceMatcher, PolicyEntry | None]]:
        state, space = self._engine.view, self._space
        levels, path = state.model.levels, entity_type(pattern.type).path
        values = (self._instance, *pattern.parts)
        elements = tuple(
            compile_element([value], False, levels[name]) if STAR in value else exactly(value, levels[name])
            for name, value in zip(path, values, strict=True)
        )
        region = Region(path, elements)
        yield from (
            (matcher, entry)
            for zone in space.zones(region)
            for entry in space.near(zone, region)
            for matcher in entry.resources
        )
        if space.has_tags:
            yield from ((matcher, None) for matcher, _ in state.tag_table.resources.items)
        yield from ((matcher, None) for matcher, _ in state.zone_table.resources.items)

    def _open_levels(
        self, pattern: EntityPattern, matcher: PolicyResourceMatcher
    ) -> Iterator[tuple[str, ResourceMatcher]]:
        """Yield the matchers of open levels that may distinguish entities; none if the resource is elsewhere."""
        resource = to_resource(pattern.example, self._instance)
        found = []
        for name, element in zip(matcher.path, matcher.elements, strict=True):
            if name not in resource:
                break
            if name in pattern.open_levels:
                if not element.match_any:
                    found.append((name, element))
            elif not element.dynamic and not element.covers(resource[name], None):
                return
        yield from found

    # --- names --------------------------------------------------------------------------------------------------------

    def _found(self, pattern: EntityPattern, tellers: Collection[_Teller], tokens: Mapping[str, str]) -> RowEntities:
        path = entity_type(pattern.type).path[1:]
        narrower = [other for other in self._patterns if _is_narrower(other, pattern)]
        alone = len(pattern.open_levels) == 1
        undecided: list[str] = [one.costly for one in tellers if one.costly]
        classes: list[list[NameClass]] = []
        for level in pattern.open_levels:
            at, options = path.index(level), self._engine.view.model.levels[level]
            others = tuple(compile_element([other.parts[at]], False, options) for other in narrower)
            taken = self._names(pattern, pattern.parts, at) if alone else frozenset[str]()
            telling = [
                _plain(element, level, tokens) for one in tellers for name, element in one.levels if name == level
            ]
            told = [one for one in telling if one is not None] + ([] if alone else list(others))
            names = NameClass(options, _valid(pattern.parts[at], level, self._engine), others if alone else (), taken)
            found, unsplit = name_classes(names, _distinct(told), _MOST_CLASSES)
            if unsplit:
                undecided.append(f"too many patterns overlap: {_examples(unsplit)}")
            classes.append(sorted(found, key=lambda one: len(one.inside)))
        if prod(map(len, classes)) > MOST_ENTITIES:
            undecided.append("too many combinations of names")
        entities = []
        for chosen, _ in zip(product(*classes), range(MOST_ENTITIES), strict=False):
            one = self._entity(pattern, chosen)
            if isinstance(one, EntityId):
                if not any(matches(other, one) for other in narrower):
                    entities.append(one)
            elif one is not None:
                undecided.append("some names are hard to find")
        if undecided and len(entities) > 2 * _A_FEW:
            # Covered by the fewest matchers and by the most: if answers differ, they probably do among these.
            entities = entities[:_A_FEW] + entities[-_A_FEW:]
        return RowEntities(tuple(entities), "; ".join(dict.fromkeys(undecided)))

    def _entity(self, pattern: EntityPattern, chosen: tuple[NameClass, ...]) -> EntityId | Undecided | None:
        """Return an entity with names of these classes that has no row of its own; None if there is none."""
        path = entity_type(pattern.type).path[1:]
        at = [path.index(level) for level in pattern.open_levels]
        parts = list(pattern.parts)
        for position, names in zip(at, chosen, strict=True):
            parts[position] = names.name
        if len(chosen) > 1:
            above: NameClass | Undecided | None = chosen[-2]
            left: NameClass | Undecided | None = None
            # Names may all have rows of their own below one name of the level above, and not below another.
            while isinstance(above, NameClass):
                parts[at[-2]] = above.name
                left = chosen[-1].without(self._names(pattern, tuple(parts), at[-1]))
                if left is not None:
                    break
                above = above.without({above.name})
            if not isinstance(left, NameClass):
                return None if left is None and above is None else Undecided()
            parts[at[-1]] = left.name
        try:
            return entity_id(pattern.type, parts)
        except InvalidEntity:
            return Undecided()

    def _names(self, pattern: EntityPattern, parts: tuple[str, ...], at: int) -> frozenset[str]:
        """Return the names at a level, beside these parts, that have rows of their own."""
        around = (parts[:at], parts[at + 1 :])
        rows = self._named.get(pattern.type, ())
        return frozenset(one[at] for one in rows if (one[:at], one[at + 1 :]) == around)


def matches(pattern: EntityPattern, entity: EntityId) -> bool:
    """Return True if an entity is one of a pattern."""
    pairs = zip(pattern.parts, entity.parts, strict=False)
    return pattern.type == entity.type and all(_covers(part, name) for part, name in pairs)


def _is_narrower(one: EntityPattern, other: EntityPattern) -> bool:
    """Return True if all that one pattern matches, and not the other way round, the other matches."""
    if one.type != other.type or one.parts == other.parts:
        return False
    pairs = zip(other.parts, one.parts, strict=True)
    return all(_covers(outer, inner.replace(STAR, _ANY)) for outer, inner in pairs)


def _covers(part: str, name: str) -> bool:
    return _wildcard(part).fullmatch(name) is not None


@cache
def _wildcard(part: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, re.sub(r"\*+", STAR, part).split(STAR))))


@cache
def _letters(level: str) -> frozenset[str]:
    """Return the characters of names on a level."""
    allowed = entity_type(level).patterns[-1]
    every = string.ascii_letters + string.digits + string.punctuation
    return frozenset(c for c in every if allowed.fullmatch(f"x{c}") or allowed.fullmatch(f"worker.x{c}"))


def _valid(part: str, level: str, engine: PolicyEngine) -> tuple[ResourceMatcher, ...]:
    """Return matchers of the names of a row on an open level."""
    options = engine.view.model.levels[level]
    asked = compile_element([part], False, options)
    if level != "program":
        return (asked,)
    return asked, compile_element([f"{kind}.?*" for kind in sorted(PROGRAM_TYPES)], False, options)


def _plain(element: ResourceMatcher, level: str, tokens: Mapping[str, str]) -> ResourceMatcher | None:
    """Return the part of a matcher that may cover a name of CDAP, for this user."""
    plain = without_macros(included(element), tokens)
    letters = _letters(level)
    tests = tuple(test for test in plain.tests if letters.issuperset(_literals(test)))
    if len(tests) == len(plain.tests):
        return plain
    values = tuple(test.text for test in tests) if plain.exact is not None else ()
    exact = frozenset(map(fold, values) if plain.options.ignore_case else values) or None
    return structs.replace(plain, several_values=values, several_tests=tests, several_exact=exact) if tests else None


def _literals(test: ValueTest) -> str:
    return re.sub(r"[*?]", "", test.glob) if test.kind is PatternKind.GLOB else test.text


def _distinct(matchers: Iterable[ResourceMatcher]) -> list[ResourceMatcher]:
    """Return each matcher once, those that list names first."""
    return sorted({(one.options, one.tests): one for one in matchers}.values(), key=lambda one: one.exact is None)


def _examples(matchers: Iterable[ResourceMatcher]) -> str:
    wild = sorted({text for one in matchers for text in one.values})
    more = f" and {len(wild) - _MOST_NAMED:,} more" if len(wild) > _MOST_NAMED else ""
    return ", ".join(f"`{text}`" for text in wild[:_MOST_NAMED]) + more
