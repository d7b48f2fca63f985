"""Java semantics needed for identical results (ranger-semantics.md §22)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

_TABLE_MINIMUM = 16
_LAST_BMP = "\uffff"


def utf16_key(text: str) -> bytes:
    """A sort key in the order of Java strings: by UTF-16 code unit, not by code point."""
    return text.encode("utf-16-be", "surrogatepass")


def hash_order(names: Iterable[str]) -> tuple[str, ...]:
    """Distinct names in the iteration order of a Java `HashSet` they were added to one by one (§7.4)."""
    distinct = list(dict.fromkeys(names))
    size = _TABLE_MINIMUM
    while len(distinct) > size * 3 // 4:
        size *= 2
    return tuple(sorted(distinct, key=lambda name: _bucket(name, size)))


def _bucket(name: str, size: int) -> int:
    h = 0
    units = utf16_key(name)
    for i in range(0, len(units), 2):
        h = (h * 31 + (units[i] << 8 | units[i + 1])) & 0xFFFFFFFF
    return (h ^ (h >> 16)) & (size - 1)


def fold(text: str) -> str:
    """`a` and `b` are equal to Java's `equalsIgnoreCase` exactly when `fold(a) == fold(b)` (§5.1)."""
    return text.lower() if text.isascii() else "".join(map(_fold_character, text))


@lru_cache(maxsize=4096)
def _fold_character(c: str) -> str:
    if c > _LAST_BMP:
        return c  # Java folds UTF-16 units one by one, so it leaves surrogates alone
    upper = _single(c.upper()) or _single(c.title()) or c
    if upper == "\u0130":
        return "i"
    return _single(upper.lower()) or upper


def _single(mapped: str) -> str | None:
    return mapped if len(mapped) == 1 else None


def round_half_up(number: float) -> int:
    """Java's `Math.round` for the small non-negative numbers it is used on here."""
    return int(number + 0.5)
