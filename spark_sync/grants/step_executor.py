"""`StepExecutor`: several steps at a time, the lives of one entity one after another, outcomes in the plan's order.

A step that met a concurrent modification is retried, with growing, random pauses; so is every step while Ranger Admin
is unavailable, as long as the patience lasts. Then, or if the account is refused, no further step is begun.
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final, NamedTuple

from ranger_cdap.errors import (
    AdminFailed,
    AdminUnreachable,
    ConflictingChange,
    RangerAdminError,
    UnexpectedAnswer,
)
from spark_sync.grants.plan import Step
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.writer import carry_out
from spark_sync.ledger.life import Life, State

TRIES: Final = 6
"""How often a step is tried that meets other changes, or makes Ranger Admin fail."""
FAILURES: Final = 5
"""Steps in a row that fail in Ranger Admin before the cause is taken to be Ranger Admin, not the steps."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_AHEAD: Final = 8  # entities waiting for each one that is worked on, so that no worker ever waits for the plan


class Outcome(NamedTuple):
    """A step and the life as it stands after it."""

    step: Step
    life: Life


@dataclass
class StepExecutor:
    """`size` steps at a time, for one plan. `error`: why it could not do all, None while it could."""

    size: int
    patience: float
    error: RangerAdminError | None = None
    _over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _failed: int = 0

    def carry_out(self, steps: Iterable[Step], ranger: PolicyRest) -> Iterator[Outcome]:
        """The outcomes of all steps, or of those that were done before the trouble began; `steps` as `plan` gives them.

        The first entity goes alone: a password that is not accepted must not be tried by all at once.
        """
        entities = (list(lives) for _, lives in groupby(steps, key=lambda step: step.life.entity))
        waiting: deque[Future[list[Outcome]]] = deque()
        with ThreadPoolExecutor(self.size, thread_name_prefix="grants") as threads:
            try:
                for n, lives in enumerate(entities):
                    if self._over.is_set():
                        break
                    waiting.append(threads.submit(self._one_entity, lives, ranger))
                    if n == 0 or len(waiting) >= self.size * _AHEAD:
                        yield from waiting.popleft().result()
                while waiting:
                    yield from waiting.popleft().result()
            finally:  # whoever stops asking, by Ctrl-C perhaps, does not wait for pauses
                self._over.set()

    def _one_entity(self, steps: list[Step], ranger: PolicyRest) -> list[Outcome]:
        done: list[Outcome] = []
        for step in steps:
            if done and done[-1].life.state is State.CLOSING:
                break  # the earlier life's grant must be gone before the next one's comes
            if (life := self._insist(step, ranger)) is None:
                break
            done.append(Outcome(step, life))
        return done

    def _insist(self, step: Step, ranger: PolicyRest) -> Life | None:
        """The life after the step; as it was, with the reason, if this step cannot be done now; None if none can."""
        tries, deadline = 0, time.monotonic() + self.patience
        while not self._over.is_set():
            tries += 1
            try:
                life = carry_out(step, ranger)
            except ConflictingChange as e:
                if tries >= TRIES:
                    return replace(step.life, reason=str(e))
            except AdminUnreachable as e:
                if time.monotonic() >= deadline:
                    self._end(e)
            except (AdminFailed, UnexpectedAnswer) as e:
                if tries >= TRIES or isinstance(e, UnexpectedAnswer):
                    return self._failing(step, e)
            except RangerAdminError as e:
                self._end(e)
            else:
                self._failed = 0
                return life
            self._over.wait(_pause(tries))
        return None

    def _end(self, error: RangerAdminError) -> None:
        with self._lock:
            self.error = self.error or error
        self._over.set()

    def _failing(self, step: Step, error: RangerAdminError) -> Life:
        with self._lock:
            self._failed += 1
            self.error = self.error or error
        if self._failed >= FAILURES:
            self._over.set()
        return replace(step.life, reason=str(error))


def _pause(tries: int) -> float:
    longest: float = min(_FIRST_PAUSE * 2 ** (tries - 1), _LONGEST_PAUSE)
    return longest * random.uniform(0.5, 1)  # noqa: S311  (it keeps threads apart, nothing more)
