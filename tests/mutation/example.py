"""A module for the tests of the mutation run: each of its faults is known, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache


def larger(one: int, other: int) -> int:
    return one if one > other else other


def sum_below(limit: int) -> int:
    total = 0
    while limit > 0:
        limit -= 1
        total += limit
    return total


@cache
def half(number: int) -> int:
    return number // 2


def adding(number: int) -> Callable[[int], int]:
    return lambda other: number + other


def twice(number: int) -> int:
    return number * 2


def triple(number: int) -> int:
    return number + number + number


add_five = adding(5)
FOUR = twice(2)


class Pair:
    size = 7

    @property
    def is_even(self) -> bool:
        return self.size in (8, 6)


def next_of(number: int, step: int = 3) -> int:
    return number - step
