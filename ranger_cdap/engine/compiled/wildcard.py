"""Wildcards as in Ranger's Java engine: `*` any run of UTF-16 units, `?` one (ranger-semantics.md §5.1.1).

`*?` is equivalent to `?`: a quirk of the library Ranger uses, kept because decisions depend on it.
Matching takes time linear in the value, for any pattern.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ranger_cdap.engine.compiled.java import utf16_units


def normalise(pattern: str) -> str:
    """Remove repeated stars and stars that a following `?` cancels; the result is in UTF-16 units."""
    out: list[str] = []
    for c in utf16_units(pattern):
        if c == "*" and out and out[-1] == "*":
            continue
        if c == "?" and out and out[-1] == "*":
            out.pop()
        out.append(c)
    return "".join(out)


def matches(pattern: str, value: str, ends: Sequence[int] = ()) -> bool:
    """Return True if a normalised pattern matches the whole value, or its beginning up to one of some rising `ends`.

    Segments between stars are found in turn, each as early as possible; first and last segment are anchored.
    """
    value = utf16_units(value)
    ends = ends or (len(value),)
    first, *rest = pattern.split("*")
    if not rest:
        return len(first) in ends and _fits(first, value, 0)
    *middle, last = rest
    at = len(first)
    starts = [end - len(last) for end in ends if at <= end - len(last) and _fits(last, value, end - len(last))]
    if not starts or not _fits(first, value, 0):
        return False
    for segment in middle:
        found = _find(segment, value, at, starts[-1])
        if found < 0:
            return False
        at = found + len(segment)
    return True


def _fits(segment: str, value: str, at: int) -> bool:
    """Return True if a segment without stars matches at a position; the value must be long enough."""
    if "?" not in segment:
        return value.startswith(segment, at)
    return all(c in ("?", found) for c, found in zip(segment, value[at : at + len(segment)], strict=True))


def _find(segment: str, value: str, start: int, end: int) -> int:
    """Return the first position of a segment without stars between two positions of the value, or -1.

    With question marks this is the Shift-And algorithm: bit n is set if the segment's first n + 1 characters end here.
    """
    if "?" not in segment:
        return value.find(segment, start, end)
    anything = sum(1 << n for n, c in enumerate(segment) if c == "?")
    at_place = dict.fromkeys(segment, anything)
    for n, c in enumerate(segment):
        at_place[c] |= 1 << n
    whole, beginnings = 1 << (len(segment) - 1), 0
    for at in range(start, end):
        beginnings = ((beginnings << 1) | 1) & at_place.get(value[at], anything)
        if beginnings & whole:
            return at - len(segment) + 1
    return -1


State = tuple[int, int, bool]
"""Number of tokens consumed, position in the value, and whether a star precedes."""


def matches_prefix(pattern: str, value: str) -> bool:
    """Return True if Ranger treats the value as a prefix of something the raw pattern matches (scope SELF_OR_PREFIX).

    It does if all tokens of the pattern are found in the value, which may be longer, and if Ranger's last search ends
    after a star; a literal may be truncated by the end of the value, a `?` may not.
    """
    value, tokens = utf16_units(value), _tokens(utf16_units(pattern))
    start: State = (0, 0, False)
    seen: set[State] = set()
    open_ = [start]
    while open_:
        state = open_.pop()
        if state in seen:
            continue
        if state[0] == len(tokens):
            return True
        seen.add(state)
        open_ += [further for further in _advance(tokens, value, state) if further is not None]
    return _ends_behind_star(tokens, value, start)


def _tokens(pattern: str) -> list[str]:
    return re.findall(r"\?|\*+|[^?*]+", pattern, re.DOTALL)


def _advance(tokens: list[str], value: str, state: State) -> tuple[State | None, State | None]:
    """Return the state after one more token, and the state in which a literal is searched again further on."""
    n, at, free = state
    wanted = tokens[n]
    if wanted == "?":
        return ((n + 1, at + 1, False) if at < len(value) else None), None
    if wanted[0] == "*":
        return (n + 1, len(value) if n + 1 == len(tokens) else at, True), None
    piece = wanted[: len(value) - at]
    if not free:
        return ((n + 1, at + len(piece), False) if value.startswith(piece, at) else None), None
    found = value.find(piece, at)
    if found < 0:
        return None, None
    again = value.find(piece, found + 1)
    return (n + 1, found + len(piece), False), ((n, again, True) if again >= 0 else None)


def _ends_behind_star(tokens: list[str], value: str, state: State) -> bool:
    """Return True if Ranger's last search, which always resumes its first alternative, ends after a star."""
    while True:
        following, again = _advance(tokens, value, state)
        if following is None:
            return state[2]
        state = again or following
