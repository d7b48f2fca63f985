"""What matching may cost: policies and requests are written by others, and one of them must not hold up the rest.

Steps are counted, never timed, so that the same policies and the same request always give the same decision. A step is
about one character compared, five billionths of a second.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

LONGEST_VALUE: Final = 8_192
"""Characters of one value, in a request or in a policy; no name of Ranger's services is longer (HDFS paths: 8,000)."""

MOST_STEPS: Final = 4_000_000
"""Steps that one policy may take to be matched with one resource: some 20 ms where they are the slowest there are."""

LONGEST_USUAL: Final = 1_000
"""Characters of a value that somebody may really have; names of CDAP end here."""

_TEST: Final = 60
_FOLDED: Final = 16
_LOOKED_AT: Final = 50
"""Steps of a character that Python looks at; its C code compares 16 of a pattern with one of a value in one step."""


class Cost(msgspec.Struct, frozen=True, gc=False):
    """The steps of comparing a value: once, for each of its characters, and for each character macros stand for.

    `crossed`: sixteenths of a step for each of its characters with each of those macros stand for.
    """

    once: int = 0
    each: int = 0
    macros: int = 0
    crossed: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.once + other.once,
            self.each + other.each,
            self.macros + other.macros,
            self.crossed + other.crossed,
        )

    def steps(self, length: int, replacement: int) -> int:
        """The steps for a value of that length, where macros stand for texts of the other length at most."""
        return self.once + self.each * length + (self.macros + self.crossed * length // 16) * replacement

    def most(self, longest: int = LONGEST_VALUE) -> int:
        """The steps for texts of that length at most."""
        return self.steps(longest, longest)


FREE: Final = Cost()


def cost_of_text(text: str) -> Cost:
    """What comparing a text without wildcards costs."""
    return Cost(_TEST + len(text) // 16)


def cost_of_glob(pattern: str) -> Cost:
    """What a pattern with wildcards costs.

    Segments are searched one after another, each from where the last one ended, so the dearest of them bounds them all.
    """
    segments = pattern.split("*")
    looks = [_LOOKED_AT if "?" in segment else 1 for segment in segments]
    once = sum(len(segment) * look for segment, look in zip(segments, looks, strict=True))
    each = max(look + len(segment) // 16 for segment, look in zip(segments, looks, strict=True))
    return Cost(_TEST + once, each)


def cost_of_macros(text: str, macros: int, *, glob: bool) -> Cost:
    """What replacing so many macros in a text costs, and what they then cost as a part of it."""
    once = len(text) * _LOOKED_AT
    return Cost(once, 0, macros * (_LOOKED_AT if glob else 1), macros if glob else 0)


def cost_of_folding(texts: Iterable[str]) -> Cost:
    """What folding the value and then each of these texts costs: letters beyond ASCII are looked at one by one."""
    return Cost(sum(len(text) for text in texts if not text.isascii()) * _FOLDED, _FOLDED)
