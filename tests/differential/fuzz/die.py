"""Choices of one scenario: drawn from the number of the scenario, so that each can be had again without the others."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Json = dict[str, Any]


class Die:
    """The same choices for the same seed and number, whatever was drawn before."""

    def __init__(self, seed: int, number: int) -> None:
        self._random = random.Random(f"{seed}:{number}")

    def one(self, of: Sequence[T]) -> T:
        return of[int(self._random.random() * len(of))]

    def chance(self, percent: int) -> bool:
        return self._random.random() * 100 < percent

    def between(self, least: int, most: int) -> int:
        return least + int(self._random.random() * (most - least + 1))

    def some(self, of: Sequence[T], most: int = 2, least: int = 0) -> list[T]:
        """Different ones, in any order."""
        return self._random.sample(list(of), min(len(of), self.between(least, most)))

    def several(self, draw: Callable[[], T], most: int, least: int = 0) -> list[T]:
        return [draw() for _ in range(self.between(least, most))]

    def given(self, percent: int, **fields: Callable[[], Any]) -> Json:
        """Each of the fields with this chance."""
        return {name: draw() for name, draw in fields.items() if self.chance(percent)}
