"""A module for the tests of the mutation run: each of its faults is known, and what becomes of it."""

from __future__ import annotations


def larger(one: int, other: int) -> int:
    return one if one > other else other


def sum_below(limit: int) -> int:
    total = 0
    while limit > 0:
        limit -= 1
        total += limit
    return total
