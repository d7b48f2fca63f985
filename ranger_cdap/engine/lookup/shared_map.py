"""Immutable map that shares its unchanged parts with the maps derived from it.

It is a trie of small dictionaries: a change copies one of them and the nodes above it, however large the map is, so a
delta costs what it changes, and the readers of the map before it are not disturbed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")

_BITS = 6
_FAN_OUT = 1 << _BITS
_MAX_LEAF = 256
"""Entries of a dictionary; a fuller one is split by further bits of the hash."""
_MAX_SHIFT = 60
"""No bits of a hash are left beyond it: keys of one hash share a dictionary."""


class SharedMap(Generic[_K, _V]):
    """Map whose `get` is a dictionary look-up below one or two tuples."""

    __slots__ = ("_root",)

    def __init__(self, items: Mapping[_K, _V]) -> None:
        self._root: Any = _node(items, 0)

    def get(self, key: _K) -> _V | None:
        """Return the value of a key, None if there is none."""
        node = self._root
        rest = hash(key)
        while type(node) is tuple:
            node = node[rest & 63]
            rest >>= 6
        found: _V | None = node.get(key)
        return found

    @property
    def getter(self) -> Callable[[_K], _V | None]:
        """Fastest function that does what `get` does: that of a dictionary if the map is small."""
        return self.get if type(self._root) is tuple else self._root.get

    @property
    def is_empty(self) -> bool:
        """Return True if there is no key."""
        return next(self.values(), None) is None

    def values(self) -> Iterator[_V]:
        """Yield all values, in no particular order."""
        open_ = [self._root]
        while open_:
            node = open_.pop()
            if type(node) is tuple:
                open_ += node
            else:
                yield from node.values()

    def replaced(self, key: _K, value: _V | None) -> SharedMap[_K, _V]:
        """Return the map with another value for a key; without the key if the value is None."""
        new: SharedMap[_K, _V] = SharedMap.__new__(SharedMap)
        new._root = _replaced(self._root, key, value, hash(key), 0)
        return new


def _node(items: Mapping[Any, Any], shift: int) -> Any:
    """Return a dictionary of a few items, a tuple of nodes by the next bits of the hash of more."""
    if len(items) <= _MAX_LEAF or shift > _MAX_SHIFT:
        return dict(items)
    parts: list[dict[Any, Any]] = [{} for _ in range(_FAN_OUT)]
    for key, value in items.items():
        parts[hash(key) >> shift & (_FAN_OUT - 1)][key] = value
    return tuple([_node(part, shift + _BITS) for part in parts])


def _replaced(node: Any, key: Any, value: Any, rest: int, shift: int) -> Any:
    if type(node) is tuple:
        at = rest & (_FAN_OUT - 1)
        return (*node[:at], _replaced(node[at], key, value, rest >> _BITS, shift + _BITS), *node[at + 1 :])
    leaf = node.copy()
    if value is None:
        leaf.pop(key, None)
    else:
        leaf[key] = value
    return _node(leaf, shift) if len(leaf) > _MAX_LEAF else leaf
