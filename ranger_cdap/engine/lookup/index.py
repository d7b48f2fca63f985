"""Finding the policies that bear on a resource without looking at all of them (docs/decisions/engine-speed.md).

There is one index a *shape*: the tuple of resource names of a request. Levels with exact values are keys of
dictionaries, one dictionary for each combination of levels that are exact; what remains (prefixes, wildcards, macros,
exclusions) is tested one by one, after a dictionary of literal prefixes has left out most of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import product
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple

from ranger_cdap.engine.compiled.java import fold
from ranger_cdap.engine.compiled.matcher import Element, Tokens, Value
from ranger_cdap.engine.compiled.resource_match import ResourceMatcher
from ranger_cdap.engine.compiled.service_def import Path

_MOST_KEYS = 64
"""A resource with more combinations of exact values than this is tested instead of multiplied out."""

Rest = tuple[tuple[int, Element], ...]
Key = Callable[[tuple[Any, ...]], Hashable]


class _Tests:
    """The entries under one key that must be tested, by a literal prefix of one level."""

    __slots__ = ("by_length", "dynamic", "level")

    def __init__(self, tested: list[tuple[int, Rest]], folds: tuple[bool, ...]) -> None:
        """Puts each under the literal prefixes of the level that has the longest of them."""
        levels = {i for _, rest in tested for i, _ in rest}
        self.level = max(
            sorted(levels), key=lambda level: sum(min(map(len, _prefixes(r, level, folds))) for _, r in tested)
        )
        self.dynamic = any(e.dynamic for _, rest in tested for _, e in rest)
        self.by_length: dict[int, dict[str, list[tuple[int, Rest]]]] = {}
        for entry, rest in tested:
            for prefix in _prefixes(rest, self.level, folds):
                self.by_length.setdefault(len(prefix), {}).setdefault(prefix, []).append((entry, rest))

    def collect(self, values: tuple[str, ...], folded: tuple[str, ...], tokens: Tokens, found: set[int]) -> None:
        """Add the entries that match."""
        begun = folded[self.level]
        for length, by_prefix in self.by_length.items():
            for entry, rest in by_prefix.get(begun[:length], ()):
                if entry not in found and all(e.covers(values[i], tokens) for i, e in rest):
                    found.add(entry)


class _Table(NamedTuple):
    """Entries whose exact levels are the same ones, by the values of those."""

    key: Key
    always: dict[Hashable, list[int]]
    tested: dict[Hashable, _Tests]


class ShapeIndex:
    """The entries that can match requests of one shape."""

    __slots__ = ("_complete", "_entries", "_folds", "_tables")

    def __init__(self, entries: Iterable[tuple[int, Sequence[Element]]], folds: tuple[bool, ...]) -> None:
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
            _Table(
                _key_function(mask),
                always.get(mask, {}),
                {key: _Tests(tested, folds) for key, tested in rests.get(mask, {}).items()},
            )
            for mask in always.keys() | rests.keys()
        )

    def find(self, values: tuple[str, ...], tokens: Tokens) -> tuple[set[int], bool]:
        """The entries that match single values, and whether the same values will always give the same entries."""
        folded: tuple[str, ...] = values
        if self._folds:
            folded = tuple(fold(v) if f else v for v, f in zip(values, self._folds, strict=True))
        found: set[int] = set()
        lasting = True
        for key_of, always, tested in self._tables:
            key = key_of(folded)
            if key in always:
                found.update(always[key])
            if key in tested:
                tests = tested[key]
                tests.collect(values, folded, tokens, found)
                lasting = lasting and not tests.dynamic
        return found, lasting

    def names(self, values: tuple[str, ...]) -> bool:
        """Whether some entry names exactly these values; there are no more such values than entries allow."""
        return not self._folds and (values[0] if len(values) == 1 else values) in self._complete

    def find_any(self, values: tuple[Value, ...], tokens: Tokens) -> set[int]:
        """The entries that may match where levels ask for several values: those of each combination of them.

        More combinations than are worth looking up may be matched by any entry.
        """
        if prod(1 if isinstance(v, str) else len(v) for v in values) > _MOST_KEYS:
            return set(self._entries)
        found: set[int] = set()
        for single in product(*[(v,) if isinstance(v, str) else v for v in values]):
            found |= self.find(single, tokens)[0]
        return found


class ResourceIndex:
    """Entries by resource, for every shape; the wide indexes (with what lies below) are made when first needed."""

    def __init__(self, entries: Iterable[tuple[int, ResourceMatcher]], folds: Mapping[str, bool]) -> None:
        by_path: dict[Path, list[tuple[int, ResourceMatcher]]] = {}
        for entry, resource in entries:
            if not resource.never:
                by_path.setdefault(resource.path, []).append((entry, resource))
        self._by_path = by_path
        self._folds = folds
        self._plain: dict[Path, ShapeIndex] = {}
        self._wide: dict[Path, ShapeIndex] = {}
        self._own: dict[Path, ShapeIndex] = {}
        for path in {p[:n] for p in by_path for n in range(len(p) + 1)}:
            covering = [(e, r) for e, r in self._below(path) if r.path == path or len(path) > r.last_specific]
            self._plain[path] = self._shape(path, covering)

    def plain(self, path: Path) -> ShapeIndex | None:
        """Entries for exactly this resource: SELF and SELF_AND_ALL_DESCENDANTS."""
        return self._plain.get(path)

    def wide(self, path: Path) -> ShapeIndex | None:
        """Entries for this resource or for something below it."""
        if path not in self._plain:
            return None
        return self._wide.get(path) or self._wide.setdefault(path, self._shape(path, self._below(path)))

    def own(self, path: Path) -> ShapeIndex | None:
        """Entries whose resource has exactly these levels."""
        if path not in self._by_path:
            return None
        return self._own.get(path) or self._own.setdefault(path, self._shape(path, self._by_path[path]))

    def _below(self, path: Path) -> Iterable[tuple[int, ResourceMatcher]]:
        for own_path, entries in self._by_path.items():
            if own_path[: len(path)] == path:
                yield from entries

    def _shape(self, path: Path, entries: Iterable[tuple[int, ResourceMatcher]]) -> ShapeIndex:
        folds = tuple(self._folds.get(name, False) for name in path)
        return ShapeIndex(((e, r.elements[: len(path)]) for e, r in entries), folds)


def _exact(elements: Sequence[Element]) -> tuple[tuple[int, ...], Iterable[Hashable]]:
    """The levels that are exact, and the keys of their values: every combination of them."""
    levels, single = [], True
    for i, element in enumerate(elements):
        if element.exact:
            levels.append(i)
            single = single and len(element.exact) == 1
    if not single:
        while levels and prod(len(elements[i].exact or ()) for i in levels) > _MOST_KEYS:
            levels.remove(max(levels, key=lambda i: len(elements[i].exact or ())))
    combinations = product(*[elements[i].exact or () for i in levels])
    return tuple(levels), combinations if len(levels) != 1 else [values[0] for values in combinations]


def _key_function(mask: tuple[int, ...]) -> Key:
    return itemgetter(*mask) if mask else lambda _: ()


def _prefixes(rest: Rest, level: int, folds: tuple[bool, ...]) -> set[str]:
    """What the values of a level that match must begin with, one of these."""
    element = dict(rest).get(level)
    if element is None or element.excludes or element.options.quoted_case_sensitive:
        return {""}
    return {fold(t.literal_prefix) if folds[level] else t.literal_prefix for t in element.tests}
