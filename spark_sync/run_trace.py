"""`RunTrace`: where the time of a run went, as a table a person reads."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

START: Final = "start of the program"


@dataclass(slots=True)
class _TracedStage:
    name: str
    seconds: float = 0.0
    processor: float = 0.0


class RunTrace:
    """Times of the stages of a run, by its progress messages: what follows a colon is a count within the stage.

    A stage that comes twice is one row. Times are seconds: by the clock, and of a processor in this process; what
    Spark's driver or Ranger Admin used shows as the difference.
    """

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, processor: Callable[[], float] = time.process_time
    ) -> None:
        """Begin with what the process did before, which counts by its processor time."""
        self._clock = clock
        self._processor = processor
        self._then = clock(), processor()
        self._stages = [_TracedStage(START, self._then[1], self._then[1])]
        self._current = self._stages[0]

    def progress(self, message: str) -> None:
        """Begin the stage of a message, unless it is the current one."""
        name = message.partition(":")[0]
        if name == self._current.name:
            return
        self._count()
        known = (stage for stage in self._stages if stage.name == name)
        self._current = next(known, None) or _TracedStage(name)
        if self._current not in self._stages:
            self._stages.append(self._current)

    def table(self) -> str:
        """Return the table up to now, with a total, in the order of first appearance."""
        self._count()
        total = _TracedStage(
            "total", sum(stage.seconds for stage in self._stages), sum(stage.processor for stage in self._stages)
        )
        width = max(len(stage.name) for stage in (*self._stages, total))
        lines = [f"{'stage':<{width}}  {'seconds':>8}  {'processor':>9}  {'share':>6}"]
        for stage in (*self._stages, total):
            share = stage.seconds / total.seconds if total.seconds else 0.0
            lines.append(f"{stage.name:<{width}}  {stage.seconds:>8.3f}  {stage.processor:>9.3f}  {share:>6.1%}")
        return "".join(line.rstrip() + "\n" for line in lines)

    def _count(self) -> None:
        now = self._clock(), self._processor()
        self._current.seconds += now[0] - self._then[0]
        self._current.processor += now[1] - self._then[1]
        self._then = now
