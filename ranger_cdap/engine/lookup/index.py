"""Index of policies by resource, to match without scanning all of them (docs/decisions/engine-speed.md).

There is one index per *shape*: the tuple of resource names of a request. Levels with exact values are keys of
dictionaries, one dictionary for each combination of exact levels; the rest (prefixes, wildcards, macros, exclusions)
is tested one by one, after a dictionary of literal prefixes has excluded most of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import product
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple

from ranger_cdap.engine.compiled.java import fold
from ranger_cdap.engine.compiled.matcher import ResourceMatcher, Tokens, Value
from ranger_cdap.engine.compiled.resource_match import PolicyResourceMatcher
from ranger_cdap.engine.compiled.service_def import Path

_MAX_KEYS = 64
"""A resource with more combinations of exact values than this is tested instead of expanded."""

Rest = tuple[tuple[int, ResourceMatcher], ...]
Key = Callable[[tuple[Any, ...]], Hashable]


class _Tests:
    """Entries under one key that must be tested, by a literal prefix of one level."""

    __slots__ = ("by_length", "dynamic", "level")

    def __init__(self, tested: list[tuple[int, Rest]], folds: tuple[bool, ...]) -> None:
        """Index each entry by the literal prefixes of the level that has the longest ones."""
        levels = {i for _, rest in tested for i, _ in rest}
        self.level = max(
            sorted(levels), key=lambda level: sum(min(map(len, _prefixes(r, level, folds))) for _, r in tested)
        )
        self.dynamic = any(e.dynamic for _, rest in tested for _, e in rest)
        self.by_length: dict[int, dict[str, list[tuple[int, Rest]]]] = {}
        for entry, rest in tested:
            for prefix in _prefixes(rest, self.level, folds):
                self.by_length.setdefault(len(prefix), {}).setdefault(prefix, []).append((entry, rest))

    def collect(self, values: tuple[Value, ...], folded: tuple[str, ...], tokens: Tokens, found: set[int]) -> None:
        """Add the entries that match."""
        folded_value = folded[self.level]
        for length, by_prefix in self.by_length.items():
            for entry, rest in by_prefix.get(folded_value[:length], ()):
                if entry not in found and all(e.covers(values[i], tokens) for i, e in rest):
                    found.add(entry)


class _ExactLevels(NamedTuple):
    """Entries with the same exact levels, by the values of those levels."""

    key: Key
    always: dict[Hashable, list[int]]
    tested: dict[Hashable, _Tests]


class ShapeIndex:
    """Entries that can match requests of one shape."""

    __slots__ = ("_complete", "_entries", "_folds", "_tables")

    def __init__(self, entries: Iterable[tuple[int, Sequence[ResourceMatcher]]], folds: tuple[bool, ...]) -> None:
        entries = tuple(entries)
        self._entries = tuple([entry for entry, _ in entries])
        self._folds = folds if any(folds) else ()
        always: dict[tuple[int, ...], dict[Hashable, list[int]]] = {}
        rests: dict[tuple[int, ...], dict[Hashable, list[tuple[int, Rest]]]] = {}
        for entry, elements in entries:
            mask, keys = _exact(elements)
            rest = tuple([(i, e) for i, e in enumerate(elements) if i not in mask and not e.match_any])
            for key in keys:
                if rest:
                    rests.setdefault(mask, {}).setdefault(key, []).append((entry, rest))
                else:
                    always.setdefault(mask, {}).setdefault(key, []).append(entry)
        self._complete = always.get(tuple(range(len(folds))), {})
        self._tables = tuple(
            _ExactLevels(
                _key_function(mask),
                always.get(mask, {}),
                {key: _Tests(tested, folds) for key, tested in rests.get(mask, {}).items()},
            )
            for mask in always.keys() | rests.keys()
        )

    def find(self, values: tuple[str, ...], tokens: Tokens, listed: tuple[Value, ...] = ()) -> tuple[set[int], bool]:
        """Return the entries that match single values, and whether the result is independent of macros.

        `listed` are the values of lists, which are tested otherwise: an empty one or `*` can be excluded (§5.1).
        """
        folded: tuple[str, ...] = values
        if self._folds:
            folded = tuple(fold(v) if f else v for v, f in zip(values, self._folds, strict=True))
        found: set[int] = set()
        cacheable = True
        for key_of, always, tested in self._tables:
            key = key_of(folded)
            if key in always:
                found.update(always[key])
            if key in tested:
                tests = tested[key]
                tests.collect(listed or values, folded, tokens, found)
                cacheable = cacheable and not tests.dynamic
        return found, cacheable

    def is_named(self, values: tuple[str, ...]) -> bool:
        """Return True if some entry names exactly these values; the number of such values is bounded by the entries."""
        return not self._folds and (values[0] if len(values) == 1 else values) in self._complete

    def find_any(self, values: tuple[Value, ...], tokens: Tokens) -> set[int]:
        """Return the entries that may match where a level has several values: those of each combination.

        Above a limit of combinations, returns all entries.
        """
        several = [_single_values(value) for value in values]
        if prod(map(len, several)) > _MAX_KEYS:
            return set(self._entries)
        found: set[int] = set()
        for pairs in product(*several):
            found |= self.find(tuple([one for one, _ in pairs]), tokens, tuple([value for _, value in pairs]))[0]
        return found


class ResourceIndex:
    """Index of entries by resource, for every shape; the indexes that include descendants are built on first use."""

    def __init__(self, entries: Iterable[tuple[int, PolicyResourceMatcher]], folds: Mapping[str, bool]) -> None:
        by_path: dict[Path, list[tuple[int, PolicyResourceMatcher]]] = {}
        for entry, resource in entries:
            if not resource.matches_nothing:
                by_path.setdefault(resource.path, []).append((entry, resource))
        self._by_path = by_path
        self._folds = folds
        self._self: dict[Path, ShapeIndex] = {}
        self._descendants: dict[Path, ShapeIndex] = {}
        self._same_levels: dict[Path, ShapeIndex] = {}
        for path in {p[:n] for p in by_path for n in range(len(p) + 1)}:
            covering = [(e, r) for e, r in self._at_or_below(path) if r.path == path or len(path) > r.last_specific]
            self._self[path] = self._shape(path, covering)

    def for_self(self, path: Path) -> ShapeIndex | None:
        """Return the index of entries for exactly this resource: SELF and SELF_AND_ALL_DESCENDANTS."""
        return self._self.get(path)

    def for_self_and_descendants(self, path: Path) -> ShapeIndex | None:
        """Return the index of entries for this resource or a resource below it."""
        if path not in self._self:
            return None
        return self._descendants.get(path) or self._descendants.setdefault(
            path, self._shape(path, self._at_or_below(path))
        )

    def for_same_levels(self, path: Path) -> ShapeIndex | None:
        """Return the index of entries whose resource has exactly these levels."""
        if path not in self._by_path:
            return None
        return self._same_levels.get(path) or self._same_levels.setdefault(path, self._shape(path, self._by_path[path]))

    def _at_or_below(self, path: Path) -> Iterable[tuple[int, PolicyResourceMatcher]]:
        for own_path, entries in self._by_path.items():
            if own_path[: len(path)] == path:
                yield from entries

    def _shape(self, path: Path, entries: Iterable[tuple[int, PolicyResourceMatcher]]) -> ShapeIndex:
        folds = tuple(self._folds.get(name, False) for name in path)
        return ShapeIndex(((e, r.elements[: len(path)]) for e, r in entries), folds)


def _exact(elements: Sequence[ResourceMatcher]) -> tuple[tuple[int, ...], Iterable[Hashable]]:
    """Return the exact levels, and the keys of every combination of their values."""
    levels, single = [], True
    for i, element in enumerate(elements):
        if element.exact:
            levels.append(i)
            single = single and len(element.exact) == 1
    if not single:
        while levels and prod(len(elements[i].exact or ()) for i in levels) > _MAX_KEYS:
            levels.remove(max(levels, key=lambda i: len(elements[i].exact or ())))
    combinations = product(*[elements[i].exact or () for i in levels])
    return tuple(levels), combinations if len(levels) != 1 else [values[0] for values in combinations]


def _single_values(value: Value) -> list[tuple[str, Value]]:
    """Return each value of a level as looked up and as tested; an empty list is looked up as `""` (§5.1)."""
    if isinstance(value, str):
        return [(value, value)]
    return [(one, (one,)) for one in value] or [("", ())]


def _key_function(mask: tuple[int, ...]) -> Key:
    return itemgetter(*mask) if mask else lambda _: ()


def _prefixes(rest: Rest, level: int, folds: tuple[bool, ...]) -> set[str]:
    """Return prefixes of which every matching value of a level has one."""
    element = dict(rest).get(level)
    if element is None or element.excludes or element.options.quoted_case_sensitive:
        return {""}
    return {fold(t.literal_prefix) if folds[level] else t.literal_prefix for t in element.tests}
