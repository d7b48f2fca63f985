"""Wildcards as Ranger's Java engine matches them: `*` any run of characters, `?` one (policy-engine.md, 5.1.1).

`*?` means the same as `?`: a trap of the library Ranger uses, kept because answers depend on it.
Matching costs at most pattern length times value length, whatever the pattern.
"""

from __future__ import annotations


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


def matches_prefix(pattern: str, value: str) -> bool:
    """Whether some continuation of the value would be covered by a normalised pattern (scope SELF_OR_PREFIX)."""
    reachable = {0}
    for c in value:
        following = set()
        for p in _through_stars(pattern, reachable):
            if p == len(pattern):
                continue
            if pattern[p] == "*":
                following.add(p)
            elif pattern[p] in ("?", c):
                following.add(p + 1)
        reachable = following
        if not reachable:
            return False
    return True


def _through_stars(pattern: str, positions: set[int]) -> set[int]:
    reached = set(positions)
    for p in positions:
        while p < len(pattern) and pattern[p] == "*":
            p += 1
            reached.add(p)
    return reached
