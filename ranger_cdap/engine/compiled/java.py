"""Java semantics needed for identical results (ranger-semantics.md §21)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

_TABLE_MINIMUM = 16
_LAST_BMP = "\uffff"


def utf16_key(text: str) -> bytes:
    """Return a sort key in the order of Java strings: by UTF-16 code unit, not by code point."""
    return text.encode("utf-16-be", "surrogatepass")


def hash_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return distinct names in the iteration order of a Java `HashSet` to which they were added one by one (§7.4)."""
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
    """Fold case so that `fold(a) == fold(b)` exactly if Java's `a.equalsIgnoreCase(b)` (§5.1)."""
    return text.lower() if text.isascii() else "".join(map(_fold_character, text))


def odd_letters(text: str) -> str:
    """Return the letters that Java's look-up folds otherwise than its comparison, so that it may miss them (§5.1)."""
    return "".join([c for c in text if "\x7f" < c <= _LAST_BMP and _fold_character(c) != (_single(c.lower()) or "i")])


@lru_cache(maxsize=4096)
def _fold_character(c: str) -> str:
    if c > _LAST_BMP:
        return c  # Java folds each UTF-16 unit, so surrogates are unchanged
    upper = _single(c.upper()) or _single(c.title()) or c
    if upper == "\u0130":
        return "i"
    return _single(upper.lower()) or upper


def _single(mapped: str) -> str | None:
    return mapped if len(mapped) == 1 else None


def utf16_units(text: str) -> str:
    """Return a text with one character per UTF-16 unit, as Java counts and compares them."""
    if text.isascii() or max(text) <= _LAST_BMP:
        return text
    units = utf16_key(text)
    return "".join([chr(high << 8 | low) for high, low in zip(units[::2], units[1::2], strict=True)])


def round_half_up(number: float) -> int:
    """Round as Java's `Math.round` does for small non-negative numbers."""
    return int(number + 0.5)
