"""Dictionaries that are filled in one step: values by key, in order or as sets, and an answer that is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


def grouped(pairs: Iterable[tuple[_K, _V]]) -> dict[_K, list[_V]]:
    """Return the values of each key; keys and values are in the order in which they first come."""
    found: dict[_K, list[_V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def grouped_once(pairs: Iterable[tuple[_K, _V]]) -> dict[_K, set[_V]]:
    """Return the values of each key as sets; keys are in the order in which they first come."""
    return {key: set(values) for key, values in grouped(pairs).items()}


def remembered(known: dict[_K, _V], key: _K, make: Callable[[], _V]) -> _V:
    """Return the answer that is known for a key, or else make and keep it."""
    if key not in known:
        known[key] = make()
    return known[key]
