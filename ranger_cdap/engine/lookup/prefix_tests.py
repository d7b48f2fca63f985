"""Entries that must be tested one by one, found by a literal prefix of one level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

from ranger_cdap.engine.compiled import cost
from ranger_cdap.engine.compiled.matcher import ResourceMatcher, Tokens, Value

Rest = tuple[tuple[int, ResourceMatcher], ...]
"""The levels to be tested, each with its position."""

_ANY = frozenset(("",))
_T = TypeVar("_T")

_FEW = 32
"""With at most so many entries, a change chooses the level again."""


class PrefixTests(Generic[_T]):
    """Entries by the prefixes of the level that has the longest ones; immutable."""

    __slots__ = ("_by_length", "_level", "_size", "dynamic")

    def __init__(self, tested: Sequence[tuple[_T, Rest]]) -> None:
        levels = {i for _, rest in tested for i, _ in rest}
        self._level = levels.pop() if len(levels) == 1 else _longest(tested, sorted(levels))
        self._size = len(tested)
        self.dynamic = any(e.dynamic for _, rest in tested for _, e in rest)
        """True if a result may depend on macros."""
        self._by_length: dict[int, dict[str, list[tuple[_T, Rest]]]] = {}
        for entry, rest in tested:
            for prefix in _prefixes(rest, self._level):
                self._by_length.setdefault(len(prefix), {}).setdefault(prefix, []).append((entry, rest))

    @property
    def is_crowded(self) -> bool:
        """Return True if one decision may find or test a crowd."""
        return self._size > cost.MAX_CROWD and any(
            len(tested) > cost.MAX_CROWD for by_prefix in self._by_length.values() for tested in by_prefix.values()
        )

    def collect(self, values: tuple[Value, ...], folded: tuple[str, ...], tokens: Tokens, found: set[_T]) -> None:
        """Add the entries that match."""
        folded_value = folded[self._level]
        for length, by_prefix in self._by_length.items():
            for entry, rest in by_prefix.get(folded_value[:length], ()):
                if entry in found:
                    continue
                for i, element in rest:
                    if not element.covers(values[i], tokens):
                        break
                else:
                    found.add(entry)

    def with_entry(self, entry: _T, rest: Rest) -> PrefixTests[_T]:
        """Return the tests with one more entry."""
        if self._size < _FEW:
            return PrefixTests([*self.pairs(), (entry, rest)])
        new = self._copy()
        new._size += 1
        new.dynamic = self.dynamic or any(e.dynamic for _, e in rest)
        for prefix in _prefixes(rest, self._level):
            by_prefix = new._by_length[len(prefix)] = new._by_length.get(len(prefix), {}).copy()
            by_prefix[prefix] = [*by_prefix.get(prefix, ()), (entry, rest)]
        return new

    def without_entry(self, entry: _T, rest: Rest) -> PrefixTests[_T] | None:
        """Return the tests without an entry with this rest; None if no others are left."""
        if self._size <= _FEW:
            kept = [pair for pair in self.pairs() if pair != (entry, rest)]
            return PrefixTests(kept) if kept else None
        new = self._copy()
        for prefix in _prefixes(rest, self._level):
            by_prefix = new._by_length[len(prefix)] = new._by_length.get(len(prefix), {}).copy()
            before = by_prefix.pop(prefix, [])
            after = [pair for pair in before if pair != (entry, rest)]
            if after:
                by_prefix[prefix] = after
            if not by_prefix:
                del new._by_length[len(prefix)]
            new._size = self._size - len(before) + len(after)
        return new

    def pairs(self) -> Iterator[tuple[_T, Rest]]:
        """Yield each entry with its levels to be tested, once."""
        return (
            (entry, rest)
            for length, by_prefix in self._by_length.items()
            for prefix, tested in by_prefix.items()
            for entry, rest in tested
            if (length, prefix) == min((len(p), p) for p in _prefixes(rest, self._level))
        )

    def _copy(self) -> PrefixTests[_T]:
        new: PrefixTests[_T] = PrefixTests.__new__(PrefixTests)
        new._by_length, new._level = self._by_length.copy(), self._level
        new._size, new.dynamic = self._size, self.dynamic
        return new


def _longest(tested: Sequence[tuple[Any, Rest]], levels: Sequence[int]) -> int:
    """Return the level with the longest prefixes."""
    return max(levels, key=lambda level: sum(min(map(len, _prefixes(r, level))) for _, r in tested))


def _prefixes(rest: Rest, level: int) -> frozenset[str]:
    """Return prefixes of which every matching value of a level has one."""
    element = dict(rest).get(level)
    return _ANY if element is None else element.prefixes
