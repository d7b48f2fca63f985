"""Wildcards as Ranger's Java engine matches them: `*` any run of characters, `?` one (policy-engine.md, 5.1.1).

`*?` means the same as `?`: a trap of the library Ranger uses, kept because answers depend on it.
Matching costs at most pattern length times value length, whatever the pattern.
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
    """Whether a normalised pattern covers the whole value."""
    p = v = 0
    star = resume = -1
    while v < len(value):
        if p < len(pattern) and pattern[p] == "*":
            star, resume = p, v
            p += 1
        elif p < len(pattern) and (pattern[p] == "?" or pattern[p] == value[v]):
            p += 1
            v += 1
        elif star >= 0:
            resume += 1
            p, v = star + 1, resume
        else:
            return False
    return all(c == "*" for c in pattern[p:])


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
