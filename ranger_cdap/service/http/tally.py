"""`Tally`: named numbers in a block of memory, which other processes that map the same block can read.

Law: one process writes a block, any may read it, and a number that only grows never appears to shrink, not even when
its writer is killed: the block stays, and the next writer goes on from what it holds.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Final

_MOST: Final = 4_096
"""Numbers of a block: all routes with all statuses, and the buckets of their times, need a third of them."""
_LONGEST_NAME: Final = 120
_WORD: Final = 8
_NAMES_AT: Final = _WORD * (1 + _MOST)
SIZE: Final = _NAMES_AT + _MOST * _LONGEST_NAME
"""Bytes of a block."""

_SEPARATOR: Final = "\0"

Name = tuple[str, ...]
"""What is counted, and the values of its labels."""


class Tally:
    """Numbers of one process by name; safe to share between threads. The block begins with zeros."""

    def __init__(self, block: memoryview | None = None) -> None:
        self._block = block if block is not None else memoryview(bytearray(SIZE))
        self._numbers = self._block[:_NAMES_AT].cast("d")
        self._lock = threading.Lock()
        self._places = {name: place for place, (name, _) in enumerate(self, 1)}

    def __iter__(self) -> Iterator[tuple[Name, float]]:
        """Yield each name with its number."""
        for place in range(1, int(self._numbers[0]) + 1):
            yield self._name(place), self._numbers[place]

    def number(self, place: int) -> float:
        """Return the number of a place."""
        return self._numbers[place]

    def place(self, *name: str) -> int:
        """Return the place of a name, for `add` and `set`; a new one begins at zero."""
        with self._lock:
            place = self._places.get(name)
            if place is None:
                place = self._places[name] = self._append(_SEPARATOR.join(name).encode())
            return place

    def add(self, *places: int, amount: float = 1.0) -> None:
        """Add the amount to the numbers of these places."""
        with self._lock:
            for place in places:
                self._numbers[place] += amount

    def observe(self, places: tuple[int, ...], sum_place: int, amount: float) -> None:
        """Add one to the numbers of these places, and the amount to that of another one."""
        with self._lock:
            for place in places:
                self._numbers[place] += 1.0
            self._numbers[sum_place] += amount

    def set(self, place: int, number: float) -> None:
        """Replace a number."""
        with self._lock:
            self._numbers[place] = number

    def _append(self, name: bytes) -> int:
        place = int(self._numbers[0]) + 1
        if place >= _MOST or len(name) > _LONGEST_NAME:
            raise ValueError("a tally has no room for another name")
        at = _NAMES_AT + place * _LONGEST_NAME
        self._block[at : at + len(name)] = name
        self._numbers[0] = place  # last: a reader never meets half a name
        return place

    def _name(self, place: int) -> Name:
        at = _NAMES_AT + place * _LONGEST_NAME
        text = bytes(self._block[at : at + _LONGEST_NAME]).rstrip(b"\0").decode()
        return tuple(text.split(_SEPARATOR))
