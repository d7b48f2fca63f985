"""Index of policies by resource, to match without scanning all of them (docs/decisions/speed.md).

There is one index per *shape*: the tuple of resource names of a request. Levels with exact values are keys of maps,
one map for each combination of exact levels; the rest (prefixes, wildcards, macros, exclusions) is tested one by one,
after the literal prefixes have excluded most of it. An index is immutable; a changed one shares the unchanged parts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar, cast

from ranger_cdap.engine.compiled import cost
from ranger_cdap.engine.compiled.java import fold
from ranger_cdap.engine.compiled.matcher import ResourceMatcher, Tokens, Value
from ranger_cdap.engine.compiled.resource_match import PolicyResourceMatcher
from ranger_cdap.engine.compiled.service_def import Path
from ranger_cdap.engine.lookup.prefix_tests import PrefixTests, Rest
from ranger_cdap.engine.lookup.shared_map import SharedMap

_MAX_KEYS = 64
"""A resource with more combinations of exact values than this is tested instead of expanded."""

BELOW_TOP = 2
"""Fewest levels of a resource with few policies below it: all policies may be below one of the highest level."""

_TEXT: Final = frozenset((str,))
_T = TypeVar("_T", bound=Hashable)
Elements = Sequence[ResourceMatcher]
Mask = tuple[int, ...]
"""Positions of exact levels."""
Key = Callable[[tuple[Any, ...]], Hashable]
Found = tuple[set[_T], bool, bool]
"""Entries; True if they are the same for all requests; True if one names exactly these values, which are few."""
Pairs = Callable[[], Iterable[tuple[_T, PolicyResourceMatcher]]]


class _ExactLevels(Generic[_T]):
    """Entries with the same exact levels, by the values of those levels: those that match, those to be tested.

    `matching` and `tests` look them up; None if there are none.
    """

    __slots__ = ("always", "key", "matching", "tested", "tests")

    def __init__(
        self, key: Key, always: SharedMap[Hashable, Sequence[_T]], tested: SharedMap[Hashable, PrefixTests[_T]]
    ) -> None:
        self.key = key
        self.always = always
        self.tested = tested
        self.matching = None if always.is_empty else always.getter
        self.tests = None if tested.is_empty else tested.getter


class ShapeIndex(Generic[_T]):
    """Entries that can match requests of one shape; `is_crowded` if one request may find a crowd."""

    __slots__ = ("_folds", "_ignores_case", "_named", "_named_getter", "_tables", "is_crowded")

    def __init__(self, entries: Iterable[tuple[_T, Elements]], folds: tuple[bool, ...]) -> None:
        self._folds = folds
        self._ignores_case = True in folds
        always: dict[Mask, dict[Hashable, Sequence[_T]]] = {}
        rests: dict[Mask, dict[Hashable, list[tuple[_T, Rest]]]] = {}
        named: dict[Hashable, Sequence[_T]] = {}
        for entry, elements in entries:
            values = tuple([e.single for e in elements])
            if None not in values:
                _add(named, values, entry)
                continue
            mask, keys, rest = _place(elements)
            for key in keys:
                if rest:
                    rests.setdefault(mask, {}).setdefault(key, []).append((entry, rest))
                elif len(mask) == len(folds):
                    _add(named, key, entry)
                else:
                    _add(always.setdefault(mask, {}), key, entry)
        self._named = SharedMap(named)
        self._named_getter = self._named.getter
        self._tables: dict[Mask, _ExactLevels[_T]] = {
            mask: _ExactLevels(
                _key_function(mask),
                SharedMap(always.get(mask, {})),
                SharedMap({key: PrefixTests(tested) for key, tested in rests.get(mask, {}).items()}),
            )
            for mask in always.keys() | rests.keys()
        }
        longest = max(max(map(len, found.values()), default=0) for found in (named, *always.values()))
        self.is_crowded = longest > cost.MAX_CROWD or any(
            tests.is_crowded for table in self._tables.values() for tests in table.tested.values()
        )

    def find(self, values: tuple[str, ...], tokens: Tokens, listed: tuple[Value, ...] = ()) -> Found[_T]:
        """Return the entries that match single values.

        `listed` are the values of lists, which are tested otherwise: an empty one or `*` can be excluded (§5.1).
        """
        folded: tuple[str, ...] = values
        if self._ignores_case:
            folded = tuple([fold(v) if f else v for v, f in zip(values, self._folds, strict=True)])
        naming = self._named_getter(folded)
        found: set[_T] = set() if naming is None else set(naming)
        same_for_all = True
        for table in self._tables.values():
            key = table.key(folded)
            if table.matching is not None:
                matching = table.matching(key)
                if matching is not None:
                    found.update(matching)
            if table.tests is not None:
                tests = table.tests(key)
                if tests is not None:
                    tests.collect(listed or values, folded, tokens, found)
                    same_for_all = same_for_all and not tests.dynamic
        return found, same_for_all, naming is not None and not self._ignores_case

    def find_any(self, values: tuple[Value, ...], tokens: Tokens) -> set[_T]:
        """Return the entries that may match where a level has several values: those of each combination.

        Above a limit of combinations, returns all entries.
        """
        if _TEXT.issuperset(map(type, values)):
            return self.find(cast("tuple[str, ...]", values), tokens)[0]
        several = [_single_values(value) for value in values]
        if prod(map(len, several)) > _MAX_KEYS:
            return self._all()
        found: set[_T] = set()
        for pairs in product(*several):
            found |= self.find(tuple([one for one, _ in pairs]), tokens, tuple([value for _, value in pairs]))[0]
        return found

    def replaced(self, entry: _T, elements: Elements, *, added: bool) -> ShapeIndex[_T]:
        """Return the index with one more entry, or without one that it has."""
        new: ShapeIndex[_T] = ShapeIndex.__new__(ShapeIndex)
        new._folds, new._ignores_case, new._named = self._folds, self._ignores_case, self._named
        new._tables, new.is_crowded = self._tables.copy(), self.is_crowded
        mask, keys, rest = _place(elements)
        table = self._tables.get(mask) or _ExactLevels(_key_function(mask), SharedMap({}), SharedMap({}))
        always, tested = table.always, table.tested
        for key in keys:
            if rest:
                tests = tested.get(key)
                if added:
                    more = tests.with_entry(entry, rest) if tests else PrefixTests([(entry, rest)])
                    tested = tested.replaced(key, more)
                    new.is_crowded = new.is_crowded or more.is_crowded
                elif tests is not None:
                    tested = tested.replaced(key, tests.without_entry(entry, rest))
                continue
            whole = len(mask) == len(self._folds)
            bucket = _bucket((new._named if whole else always).get(key), entry, added=added)
            new.is_crowded = new.is_crowded or (bucket is not None and len(bucket) > cost.MAX_CROWD)
            if whole:
                new._named = new._named.replaced(key, bucket)
            else:
                always = always.replaced(key, bucket)
        if rest or len(mask) < len(self._folds):
            new._tables[mask] = _ExactLevels(table.key, always, tested)
        new._named_getter = new._named.getter
        return new

    def _all(self) -> set[_T]:
        found = {entry for bucket in self._named.values() for entry in bucket}
        for table in self._tables.values():
            found.update(entry for bucket in table.always.values() for entry in bucket)
            found.update(entry for tests in table.tested.values() for entry, _ in tests.pairs())
        return found


class ResourceIndex(Generic[_T]):
    """Index of entries by resource, for every shape.

    The indexes that include descendants, or only resources of the same levels, are built on first use, from `pairs`:
    all entries with their resources. Below the lowest levels they are the index of the resource itself.
    """

    __slots__ = ("_above", "_descendants", "_folds", "_same_levels", "_self")

    def __init__(self, pairs: Iterable[tuple[_T, PolicyResourceMatcher]], folds: Mapping[str, bool]) -> None:
        here: dict[Path, list[tuple[_T, Elements]]] = {}
        for entry, resource in pairs:
            if resource.matches_nothing:
                continue
            path, elements = resource.path, resource.elements
            same = here.get(path)
            if same is None:
                same = here[path] = []
                for n in range(len(path)):
                    here.setdefault(path[:n], [])
            same.append((entry, elements))
            for n in range(resource.last_specific + 1, len(path)):
                here[path[:n]].append((entry, elements[:n]))
        self._folds = folds
        self._above = frozenset(path[:n] for path in here for n in range(len(path)))
        """Paths that have others below them."""
        self._self = {path: self._shape(path, entries) for path, entries in here.items()}
        self._descendants: dict[Path, ShapeIndex[_T]] = {}
        self._same_levels: dict[Path, ShapeIndex[_T]] = {}

    def for_self(self, path: Path) -> ShapeIndex[_T] | None:
        """Return the index of entries for exactly this resource: SELF and SELF_AND_ALL_DESCENDANTS."""
        return self._self.get(path)

    def for_self_and_descendants(self, path: Path, pairs: Pairs[_T]) -> ShapeIndex[_T] | None:
        """Return the index of entries for this resource or a resource below it."""
        if path not in self._above:
            return self._self.get(path)
        n = len(path)
        return self._descendants.get(path) or self._descendants.setdefault(
            path, self._shape(path, ((e, r.elements[:n]) for e, r in _matchable(pairs()) if r.path[:n] == path))
        )

    def for_same_levels(self, path: Path, pairs: Pairs[_T]) -> ShapeIndex[_T] | None:
        """Return the index of entries whose resource has exactly these levels."""
        if path not in self._above:
            return self._self.get(path)
        return self._same_levels.get(path) or self._same_levels.setdefault(
            path, self._shape(path, ((e, r.elements) for e, r in _matchable(pairs()) if r.path == path))
        )

    def build_below(self, pairs: Pairs[_T], levels: int) -> None:
        """Build the indexes that include descendants, of the paths with at least so many levels."""
        for path in self._above:
            if len(path) >= levels:
                self.for_self_and_descendants(path, pairs)

    def build_same_levels(self, pairs: Pairs[_T]) -> None:
        """Build the indexes of resources with the same levels."""
        for path in self._above:
            self.for_same_levels(path, pairs)

    def is_built(self, levels: int) -> bool:
        """Return True if `build_below` has nothing to do."""
        return all(path in self._descendants for path in self._above if len(path) >= levels)

    def is_crowded(self, levels: int) -> bool:
        """Return True if a request may find a crowd, one with descendants only if it has at least so many levels."""
        below = (shape.is_crowded for path, shape in self._descendants.items() if len(path) >= levels)
        return any(shape.is_crowded for shape in self._self.values()) or any(below)

    def changed(
        self,
        removed: Iterable[tuple[_T, PolicyResourceMatcher]],
        added: Iterable[tuple[_T, PolicyResourceMatcher]],
    ) -> ResourceIndex[_T]:
        """Return the index without some entries, all of their resources given, and with others."""
        new: ResourceIndex[_T] = ResourceIndex((), self._folds)
        new._self, new._descendants = self._self.copy(), self._descendants.copy()
        new._same_levels, new._above = self._same_levels.copy(), self._above
        for entry, resource in _matchable(removed):
            new._replace(entry, resource, added=False)
        for entry, resource in _matchable(added):
            new._replace(entry, resource, added=True)
        return new

    def _replace(self, entry: _T, resource: PolicyResourceMatcher, *, added: bool) -> None:
        path, elements = resource.path, resource.elements
        if path not in self._self:
            self._above |= {path[:n] for n in range(len(path))}
        for n in range(len(path) + 1):
            above = path[:n]
            shape = self._self.get(above) or self._shape(above, ())
            if n == len(path) or n > resource.last_specific:
                shape = shape.replaced(entry, elements[:n], added=added)
            self._self[above] = shape
            if above in self._descendants:
                self._descendants[above] = self._descendants[above].replaced(entry, elements[:n], added=added)
        if path in self._same_levels:
            self._same_levels[path] = self._same_levels[path].replaced(entry, elements, added=added)

    def _shape(self, path: Path, entries: Iterable[tuple[_T, Elements]]) -> ShapeIndex[_T]:
        return ShapeIndex(entries, tuple([self._folds.get(name, False) for name in path]))


def _matchable(pairs: Iterable[tuple[_T, PolicyResourceMatcher]]) -> Iterator[tuple[_T, PolicyResourceMatcher]]:
    return ((entry, resource) for entry, resource in pairs if not resource.matches_nothing)


def _add(buckets: dict[Hashable, Sequence[_T]], key: Hashable, entry: _T) -> None:
    """Add an entry to those of a key: a tuple of one, as nearly all are, or a list of more."""
    bucket = buckets.get(key)
    if bucket is None:
        buckets[key] = (entry,)
    elif isinstance(bucket, list):
        bucket.append(entry)
    else:
        buckets[key] = [*bucket, entry]


def _bucket(entries: Sequence[_T] | None, entry: _T, *, added: bool) -> Sequence[_T] | None:
    """Return the entries of a key with one more, or without one; None if none are left."""
    others = tuple([other for other in entries or () if other != entry])
    return (*others, entry) if added else others or None


def _place(elements: Elements) -> tuple[Mask, Iterable[Hashable], Rest]:
    """Return the exact levels, the keys of every combination of their values, and the levels to be tested."""
    exact = {i: values for i, element in enumerate(elements) if (values := element.exact)}
    while exact and prod(map(len, exact.values())) > _MAX_KEYS:
        del exact[max(exact, key=lambda i: len(exact[i]))]
    levels = tuple(exact)
    keys: Iterable[Hashable] = product(*exact.values())
    if len(levels) == 1 and len(elements) > 1:
        keys = exact[levels[0]]
    rest = tuple([(i, e) for i, e in enumerate(elements) if i not in levels and not e.match_any])
    return levels, keys, rest


def _single_values(value: Value) -> list[tuple[str, Value]]:
    """Return each value of a level as looked up and as tested; an empty list is looked up as `""` (§5.1).

    A path of a list can be looked up by one of its values and covered by another (§20).
    """
    return [(value, value)] if isinstance(value, str) else [(one, value) for one in value or ("",)]


def _key_function(mask: Mask) -> Key:
    return itemgetter(*mask) if mask else lambda _: ()
