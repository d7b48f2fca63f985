"""`KeyFilter`: whether a key of an event may be among many others, in 16 MB whatever their number. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_BITS: Final = 27

Key = tuple[str, str]
"""Source and id of an event."""


class KeyFilter:
    """A bit for each hash of a key. Law: it may have every key that was added, and of a million one in 130 others."""

    def __init__(self) -> None:
        self._bits = bytearray()

    @property
    def is_filled(self) -> bool:
        """Return whether it knows some keys; else it may have any."""
        return bool(self._bits)

    def fill(self, keys: Iterable[Key]) -> None:
        """Begin with these keys."""
        self._bits = bytearray(1 << _BITS - 3)
        self.add(keys)

    def add(self, keys: Iterable[Key]) -> None:
        """Add keys, if it is filled."""
        if bits := self._bits:
            for key in keys:
                place = hash(key) % (1 << _BITS)
                bits[place >> 3] |= 1 << (place & 7)

    def may_have(self, key: Key) -> bool:
        """Return whether the key may have been added."""
        place = hash(key) % (1 << _BITS)
        return not self._bits or bool(self._bits[place >> 3] & 1 << (place & 7))
