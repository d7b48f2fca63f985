"""Wildcards as Ranger's Java engine matches them: `*` any run of characters, `?` one (ranger-semantics.md §5.1.1).

`*?` means the same as `?`: a trap of the library Ranger uses, kept because answers depend on it.
Matching costs time in proportion to the value, whatever the pattern.
"""

from __future__ import annotations

import re


def normalise(pattern: str) -> str:
    """The pattern without repeated stars and without the stars that a following `?` cancels."""
    out: list[str] = []
    for c in pattern:
        if c == "*" and out and out[-1] == "*":
            continue
        if c == "?" and out and out[-1] == "*":
            out.pop()
        out.append(c)
    return "".join(out)


def matches(pattern: str, value: str) -> bool:
    """Whether a normalised pattern covers the whole value.

    What stands between stars is found one after another, each as early as it can be; only the last has its place.
    """
    first, *rest = pattern.split("*")
    if not rest:
        return len(first) == len(value) and _fits(first, value, 0)
    *middle, last = rest
    at, end = len(first), len(value) - len(last)
    if at > end or not _fits(first, value, 0) or not _fits(last, value, end):
        return False
    for segment in middle:
        found = _find(segment, value, at, end)
        if found < 0:
            return False
        at = found + len(segment)
    return True


def _fits(segment: str, value: str, at: int) -> bool:
    """Whether a segment without stars stands there; the value must be long enough."""
    if "?" not in segment:
        return value.startswith(segment, at)
    return all(c in ("?", found) for c, found in zip(segment, value[at : at + len(segment)], strict=True))


def _find(segment: str, value: str, start: int, end: int) -> int:
    """Where a segment without stars stands first between two places of the value, or -1.

    With question marks, all beginnings are looked at in one pass: bit n says that the segment's first n + 1 characters
    end at this place (the algorithm Shift-And).
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
"""How many tokens are done, where in the value, and whether a star has come before."""


def matches_prefix(pattern: str, value: str) -> bool:
    """Whether Ranger takes the value for a beginning of what the raw pattern covers (scope SELF_OR_PREFIX).

    That is so where all tokens of the pattern are found in the value, of which more may follow, and where the search
    that Ranger makes last has come to a star; a literal may be cut short by the end of the value, a `?` may not.
    """
    tokens = _tokens(pattern)
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
    """The state after one more token, and that in which a literal is looked for again further on."""
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
    """Whether Ranger's last search, the one that takes up its first alternative again and again, ends after a star."""
    while True:
        following, again = _advance(tokens, value, state)
        if following is None:
            return state[2]
        state = again or following
