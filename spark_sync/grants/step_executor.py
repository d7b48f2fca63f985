"""`StepExecutor`: concurrent steps; those of one entity run in sequence, outcomes follow the plan's order.

A step that met a concurrent modification is retried with growing, random pauses; so is every step while Ranger Admin is
unavailable, until the patience is exhausted. Then, or if the account is rejected, no further step is started.
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

from ranger_cdap.errors import (
    AdminFailed,
    AdminUnreachable,
    ConflictingChange,
    RangerAdminError,
    UnexpectedAnswer,
)
from spark_sync.grants.plan import Step
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.writer import StepOutcome, carry_out

_T = TypeVar("_T")

TRIES: Final = 6
"""Most attempts of a step that meets concurrent modifications, or makes Ranger Admin fail."""
FAILURES: Final = 5
"""Steps in a row that fail in Ranger Admin before the cause is taken to be Ranger Admin, not the steps."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_AHEAD: Final = 8  # lanes waiting for each one that is worked on, so that no worker ever waits for the plan

Lane = Sequence[Step]
"""The steps of one entity, which are carried out in sequence."""


@dataclass
class StepExecutor:
    """Executor of one plan. `error`: why not all steps were done, `None` if they were.

    `size`: the number of steps at a time. `patience`: the seconds that Ranger Admin may be unavailable.
    """

    size: int
    patience: float
    error: RangerAdminError | None = None
    _over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _failed: int = 0

    def carry_out(self, lanes: Iterable[Lane], ranger: PolicyRest) -> Iterator[StepOutcome]:
        """Return the outcomes of all lanes, or of those done before an error.

        The first lane goes alone: a rejected password must not be tried by all threads at once.
        """
        waiting: deque[Future[list[StepOutcome]]] = deque()
        with ThreadPoolExecutor(self.size, thread_name_prefix="grants") as threads:
            try:
                for n, lane in enumerate(lanes):
                    if self._over.is_set():
                        break
                    waiting.append(threads.submit(self._one_lane, lane, ranger))
                    if n == 0 or len(waiting) >= self.size * _AHEAD:
                        yield from waiting.popleft().result()
                while waiting:
                    yield from waiting.popleft().result()
            except BaseException:  # a caller that stops early, as by Ctrl-C, does not wait for pauses
                self._over.set()
                raise

    def _one_lane(self, lane: Lane, ranger: PolicyRest) -> list[StepOutcome]:
        done: list[StepOutcome] = []
        for step in lane:
            retried = partial(carry_out, step, ranger), partial(_unchanged, step)
            if (outcome := self.retried(*retried)) is None:
                break
            done.append(outcome)
        return done

    def retried(self, call: Callable[[], _T], failed: Callable[[RangerAdminError], _T | None]) -> _T | None:
        """Return the result of a call; that of `failed` if it cannot succeed now; `None` if nothing can."""
        tries, deadline = 0, time.monotonic() + self.patience
        while not self._over.is_set():
            tries += 1
            try:
                result = call()
            except ConflictingChange as e:
                if tries >= TRIES:
                    return failed(e)
            except AdminUnreachable as e:
                if time.monotonic() >= deadline:
                    self._note(e, FAILURES)
            except (AdminFailed, UnexpectedAnswer) as e:
                if tries >= TRIES or isinstance(e, UnexpectedAnswer):
                    self._note(e)
                    return failed(e)
            except RangerAdminError as e:
                self._note(e, FAILURES)
            else:
                self._failed = 0
                return result
            longest = min(_FIRST_PAUSE * 2 ** (tries - 1), _LONGEST_PAUSE)
            self._over.wait(longest * random.uniform(0.5, 1))  # noqa: S311  (it keeps threads apart, nothing more)
        return None

    def _note(self, error: RangerAdminError, failures: int = 1) -> None:
        """Note why a step failed, as one failure or as so many that no further step is started."""
        with self._lock:
            # Another thread may set it to 0 at any time.
            self._failed = failed = self._failed + failures
            self.error = self.error or error
        if failed >= FAILURES:
            self._over.set()


def _unchanged(step: Step, error: RangerAdminError) -> StepOutcome:
    return StepOutcome(step, replace(step.life, reason=str(error)))
