"""Turns of threads that compute: one of them runs at a time, a slice of steps, and then the next one.

If all ran at once, the event loop's thread would wait for each of them whenever it needs the interpreter.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

SLICE: Final = 100
"""Steps of a turn; a step is a decision."""


@dataclass(eq=False, slots=True)
class Turns:
    """Turns of the threads of one service, in the order in which they asked for them."""

    _guard: threading.Lock = field(default_factory=threading.Lock)
    _queue: deque[threading.Lock] = field(default_factory=deque)

    @contextmanager
    def taking(self) -> Iterator[None]:
        """Compute in turns; `give_way` counts the steps."""
        self._take()
        _here.turns, _here.steps = self, 0
        try:
            yield
        finally:
            _here.turns = None
            self._pass_on()

    @property
    def waiting(self) -> int:
        """Return the number of threads that wait for their turns."""
        return max(0, len(self._queue) - 1)

    def next(self) -> None:
        """Let the others that wait have their turns."""
        if self.waiting:
            self._pass_on()
            self._take()

    def _take(self) -> None:
        mine = threading.Lock()
        with self._guard:
            self._queue.append(mine)
            if len(self._queue) > 1:
                mine.acquire()
        mine.acquire()

    def _pass_on(self) -> None:
        with self._guard:
            self._queue.popleft()
            if self._queue:
                self._queue[0].release()


class _Here(threading.local):
    """The turns that this thread takes, and its steps in the present one."""

    turns: Turns | None = None
    steps = 0


_here = _Here()


def give_way(steps: int = 1) -> None:
    """Count steps of this thread; after a slice the next thread has its turn. Without turns, do nothing."""
    if _here.turns is not None:
        _here.steps += steps
        if _here.steps >= SLICE:
            _here.steps = 0
            _here.turns.next()
