"""Recursive patterns of paths and URLs: one of the beginnings of a value that end at a separator matches (§5.1.2)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

from ranger_cdap.engine.compiled import wildcard
from ranger_cdap.engine.compiled.java import utf16_units

Fold = Callable[[str], str]
"""What is compared of a text: the text itself, or its folded form."""

_TRIMMED = "".join(map(chr, range(33)))


def is_at_or_below(text: str, value: str, separator: str, fold: Fold) -> bool:
    """Return True if a value is a path or URL without wildcards, or below it."""
    text, value = fold(text.removesuffix(separator)), fold(value)
    return value == text or value.startswith(text + fold(separator))


def matches_path(pattern: str, value: str, separator: str, fold: Fold) -> bool:
    """Return True if a pattern matches a path, or one that this path is below; adjacent separators count as one.

    The beginning `/a/` of a path is matched by `/a/*` only if it is the whole path.
    """
    parts, wanted = _split(value, separator), _split(pattern, separator)
    if not parts:
        return bool(value) and wildcard.matches(_glob(pattern, fold), fold(value))
    if not is_pattern(pattern):
        return list(map(fold, parts)) == list(map(fold, wanted))
    if _matches_beginning(pattern, separator * value.startswith(separator), parts, separator, fold):
        return True
    named = wanted[:-1]
    return (
        wanted[-1] == "*"
        and value.endswith(separator)
        and list(map(fold, parts)) == list(map(fold, named))
        and not any(map(is_pattern, named))
    )


def matches_url(pattern: str, value: str, separator: str, fold: Fold) -> bool:
    """Return True if a pattern matches a URL, or one that this URL is below."""
    url = value.strip(_TRIMMED)
    if "://" not in url or ":///" in url:
        return False
    colon = url.index(":")
    parts = _split(url[colon + 2 :], separator)
    if not parts:
        return wildcard.matches(_glob(pattern, fold), fold(value))
    start = url[: colon + 3] + separator * value.startswith(separator)
    return _matches_beginning(pattern, start, parts, separator, fold, closed=url.endswith(separator))


def is_below(prefix: str, value: str, separator: str) -> bool:
    """Return True if Java's look-up of what is directly below a value finds a prefix (§20)."""
    above = value if value.endswith(separator) else value + separator
    return prefix.startswith(above) and separator not in prefix[len(above) : -1]


def _matches_beginning(
    pattern: str, start: str, parts: list[str], separator: str, fold: Fold, *, closed: bool = False
) -> bool:
    units = [utf16_units(part) for part in parts]
    ends = list(accumulate(map(len, units), lambda end, length: end + 1 + length, initial=len(utf16_units(start)) - 1))
    value = start + separator.join(parts) + separator * closed
    return wildcard.matches(_glob(pattern, fold), fold(value), (*ends[1:], *[ends[-1] + 1] * closed))


def _split(text: str, separator: str) -> list[str]:
    return [part for part in text.split(separator) if part]


def _glob(pattern: str, fold: Fold) -> str:
    return wildcard.normalise(fold(pattern))


def is_pattern(text: str) -> bool:
    """Return True if a text has wildcards."""
    return "*" in text or "?" in text
