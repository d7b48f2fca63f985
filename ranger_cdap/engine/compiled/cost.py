"""Cost limits of matching: a single policy or request must not slow down all others.

Cost is counted in steps and not measured, so that the same policies and request always give the same decision. A step
is about one character compared, 5 ns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

MAX_VALUE_LENGTH: Final = 8_192
"""Characters of one value, in a request or a policy; names in Ranger's services are not longer (HDFS paths: 8,000)."""

MAX_STEPS: Final = 4_000_000
"""Steps to match one policy with one resource: about 20 ms in the worst case."""

CUSTOM_STEPS: Final = 200_000
"""Steps of a custom condition that does not say what it takes: 1 ms."""

TYPICAL_VALUE_LENGTH: Final = 1_000
"""Characters of a realistic value; names in CDAP are not longer."""

MAX_LAZY_LENGTH: Final = 2_000
"""Bytes of a policy that the first decision about it compiles: some 80,000 steps. Longer ones are compiled at load."""

MAX_POLICY_LENGTH: Final = 100_000
"""Bytes of a policy that decisions evaluate in `MAX_STEPS`: one step in 40 for each byte of an item."""

MAX_CROWD: Final = 1_000
"""Policies, tags or zones found together, which one decision can compile, sort or index: about 20 ms."""

_PER_TEST: Final = 60
_PER_FOLD: Final = 16
_PER_CHARACTER: Final = 50
"""Steps per character in Python code; its C code compares 16 characters in one step."""


class Cost(msgspec.Struct, frozen=True, gc=False):
    """Steps to compare a value: fixed, per character of the value, and per character that macros expand to.

    `per_pair` counts sixteenths of a step per pair of a character of the value and one that macros expand to.
    """

    fixed: int = 0
    per_character: int = 0
    per_replaced: int = 0
    per_pair: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.fixed + other.fixed,
            self.per_character + other.per_character,
            self.per_replaced + other.per_replaced,
            self.per_pair + other.per_pair,
        )

    def steps(self, length: int, replacement: int) -> int:
        """Return the steps for a value of `length`, with macros that expand to at most `replacement` characters."""
        return (
            self.fixed + self.per_character * length + (self.per_replaced + self.per_pair * length // 16) * replacement
        )

    def max_steps(self, longest: int = MAX_VALUE_LENGTH) -> int:
        """Return the steps for values and replacements of at most `longest` characters."""
        return self.steps(longest, longest)


FREE: Final = Cost()


def cost_of_text(text: str) -> Cost:
    """Return the cost of comparing a text without wildcards."""
    return Cost(_PER_TEST + len(text) // 16)


def cost_of_glob(pattern: str) -> Cost:
    """Return the cost of matching a pattern with wildcards.

    Each segment is searched from the end of the previous one, so the most expensive segment bounds the total.
    """
    segments = pattern.split("*")
    costs = [_PER_CHARACTER if "?" in segment else 1 for segment in segments]
    fixed = sum(len(segment) * each for segment, each in zip(segments, costs, strict=True))
    per_character = max(each + len(segment) // 16 for segment, each in zip(segments, costs, strict=True))
    return Cost(_PER_TEST + fixed, per_character)


def cost_of_beginnings(pattern: str, macros: int) -> Cost:
    """Return the cost, beside that of the pattern, of comparing its last segment with each beginning of a path."""
    last = pattern.rpartition("*")[2]
    each = _PER_CHARACTER // 2 if "?" in last else 1
    return Cost(0, _PER_FOLD + len(last) * each, 0, macros * 16 * each)


def cost_of_macros(text: str, macros: int, *, glob: bool) -> Cost:
    """Return the cost of replacing `macros` macros in a text and of comparing their replacements."""
    fixed = len(text) * _PER_CHARACTER
    return Cost(fixed, 0, macros * (_PER_CHARACTER if glob else 1), macros if glob else 0)


def cost_of_folding(texts: Iterable[str]) -> Cost:
    """Return the cost of folding the value and these texts; characters beyond ASCII are folded one by one."""
    return Cost(sum(len(text) for text in texts if not text.isascii()) * _PER_FOLD, _PER_FOLD)
