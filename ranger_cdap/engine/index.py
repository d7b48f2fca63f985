"""Finding the policies that bear on a resource without looking at all of them (fast-engine.md).

There is one index a *shape*: the tuple of resource names of a request. Levels with exact values are keys of
dictionaries, one dictionary for each combination of levels that are exact; what remains (prefixes, wildcards, macros,
exclusions) is tested one by one, after a dictionary of literal prefixes has left out most of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from operator import itemgetter
from typing import Any

from ranger_cdap.engine.java import fold
from ranger_cdap.engine.matcher import Element, Tokens, Value
from ranger_cdap.engine.resource_match import ResourceMatcher
from ranger_cdap.engine.service_def import Path

_MOST_KEYS = 64
"""A resource with more combinations of exact values than this is tested instead of multiplied out."""

Rest = tuple[tuple[int, Element], ...]
Key = Callable[[tuple[Any, ...]], Hashable]


@dataclass(slots=True)
class _Bucket:
    """The entries under one key: those that always match, and those that must be tested, by a literal prefix."""

    always: list[int] = field(default_factory=list)
    level: int = 0
    tested: dict[int, dict[str, list[tuple[int, Rest]]]] = field(default_factory=dict)
    dynamic: bool = False

    def collect(self, values: tuple[Value, ...], folded: tuple[Value, ...], tokens: Tokens, found: set[int]) -> None:
        found.update(self.always)
        for entry, rest in self._possible(folded[self.level] if self.tested else ""):
            if entry not in found and all(e.covers(values[i], tokens) for i, e in rest):
                found.add(entry)

    def _possible(self, value: Value) -> Iterable[tuple[int, Rest]]:
        for length, by_prefix in self.tested.items():
            for one in (value,) if isinstance(value, str) else value:
                yield from by_prefix.get(one[:length], ())


class ShapeIndex:
    """The entries that can match requests of one shape."""

    __slots__ = ("_complete", "_entries", "_folds", "_tables")

    def __init__(self, entries: Iterable[tuple[int, Sequence[Element]]], folds: tuple[bool, ...]) -> None:
        entries = tuple(entries)
        self._entries = tuple(entry for entry, _ in entries)
        self._folds = folds if any(folds) else ()
        tables: dict[tuple[int, ...], dict[Hashable, _Bucket]] = {}
        rests: dict[tuple[int, ...], dict[Hashable, list[tuple[int, Rest]]]] = {}
        for entry, elements in entries:
            mask = _exact_levels(elements)
            rest = tuple((i, e) for i, e in enumerate(elements) if i not in mask and not e.match_any)
            table = tables.setdefault(mask, {})
            for values in product(*[elements[i].exact or () for i in mask]):
                key: Hashable = values[0] if len(values) == 1 else values
                bucket = table.get(key)
                if bucket is None:
                    bucket = table[key] = _Bucket()
                if not rest:
                    bucket.always.append(entry)
                else:
                    rests.setdefault(mask, {}).setdefault(key, []).append((entry, rest))
        for mask, by_key in rests.items():
            for key, tested in by_key.items():
                _arrange(tables[mask][key], tested, folds)
        self._complete: dict[Hashable, _Bucket] = tables.get(tuple(range(len(folds))), {})
        self._tables: tuple[tuple[Key, dict[Hashable, _Bucket]], ...] = tuple(
            (_key_function(mask), table) for mask, table in tables.items()
        )

    def find(self, values: tuple[str, ...], tokens: Tokens) -> tuple[set[int], bool]:
        """The entries that match single values, and whether the same values will always give the same entries."""
        folded: tuple[str, ...] = values
        if self._folds:
            folded = tuple(fold(v) if f else v for v, f in zip(values, self._folds, strict=True))
        found: set[int] = set()
        lasting = True
        for key, table in self._tables:
            bucket = table.get(key(folded))
            if bucket is not None:
                bucket.collect(values, folded, tokens, found)
                lasting = lasting and not bucket.dynamic
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


def _exact_levels(elements: Sequence[Element]) -> tuple[int, ...]:
    levels = [i for i, e in enumerate(elements) if e.exact]
    while levels and prod(len(elements[i].exact or ()) for i in levels) > _MOST_KEYS:
        levels.remove(max(levels, key=lambda i: len(elements[i].exact or ())))
    return tuple(levels)


def _key_function(mask: tuple[int, ...]) -> Key:
    return itemgetter(*mask) if mask else lambda _: ()


def _arrange(bucket: _Bucket, tested: list[tuple[int, Rest]], folds: tuple[bool, ...]) -> None:
    """Puts what must be tested under the literal prefixes of the level that has the longest of them."""
    levels = {i for _, rest in tested for i, _ in rest}

    def prefixes(rest: Rest, level: int) -> set[str]:
        element = dict(rest).get(level)
        if element is None or element.excludes or element.options.quoted_case_sensitive:
            return {""}
        return {fold(t.literal_prefix) if folds[level] else t.literal_prefix for t in element.tests}

    bucket.level = max(sorted(levels), key=lambda level: sum(min(map(len, prefixes(r, level))) for _, r in tested))
    for entry, rest in tested:
        bucket.dynamic = bucket.dynamic or any(e.dynamic for _, e in rest)
        for prefix in prefixes(rest, bucket.level):
            bucket.tested.setdefault(len(prefix), {}).setdefault(prefix, []).append((entry, rest))
