"""Limits per caller: requests per second, concurrent requests, and threads.

Law: no caller can keep others from being served. A caller for CDAP (role `enforce`) has no limit, since CDAP denies
whatever gets no answer.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from ranger_cdap.config import ServiceSettings
from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.service.http.limits import ServiceLimits
from ranger_cdap.service.http.reply import Refused
from ranger_cdap.service.http.turns import Turns

_Done = TypeVar("_Done")

_MOST_REMEMBERED: Final = 10_000
"""Callers and addresses whose tokens are counted; the least recently seen are forgotten."""
_MOST_WAITING: Final = 32
_WORKING: Final = 1
"""Threads of one caller that compute: more would not increase throughput, and take their turns from all others."""
_WORKING_FOR_CDAP: Final = 4
"""Those of a caller with `enforce`, which serves many users: a long list of one must not hold up the others."""


class Shares:
    """Shares of all callers; unauthenticated requests share by address. For use by one thread."""

    def __init__(
        self, settings: ServiceSettings, limits: ServiceLimits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = limits.rate
        self._unlimited = {row.name for row in settings.callers if CallerRole.ENFORCE in row.roles}
        self._most_at_once = max(1, limits.requests // 2)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._at_once: Counter[str] = Counter()
        self._waiting: dict[str, CapacityLimiter] = {}
        self._working: dict[str, CapacityLimiter] = {}
        self._turns = Turns()

    @contextmanager
    def taking(self, who: str) -> Iterator[None]:
        """Count one request of that caller or address, from its headers to its response.

        Raises:
            Refused: with 429, if it exceeds its share.
        """
        if who not in self._unlimited:
            if not self._takes_one(who, self._rate, self._clock()):
                raise Refused(429, f"more than {self._rate} requests per second; try again in a second")
            if self._at_once[who] >= self._most_at_once:
                raise Refused(429, f"more than {self._most_at_once} requests at once; try again")
        self._at_once[who] += 1
        try:
            yield
        finally:
            self._at_once[who] -= 1
            if not self._at_once[who]:
                del self._at_once[who]

    def _takes_one(self, who: str, rate: float, now: float) -> bool:
        """Take one of the tokens accumulated, for at most a second; false if there is none."""
        left, at = self._buckets.pop(who, (rate, now))
        left = min(rate, left + max(0.0, now - at) * rate)
        takes = left >= 1
        self._buckets[who] = (left - takes, now)
        if len(self._buckets) > _MOST_REMEMBERED:
            self._buckets.popitem(last=False)
        return takes

    async def wait(self, who: str, function: Callable[..., _Done], *arguments: Any) -> _Done:
        """Do something for that caller in a thread that may wait for a disk or a network."""
        limiter = self._waiting.setdefault(who, CapacityLimiter(_MOST_WAITING))
        return await run_sync(function, *arguments, limiter=limiter)

    async def work(self, who: str, function: Callable[..., _Done], *arguments: Any) -> _Done:
        """Compute something for that caller in a thread, in turns with all others."""
        threads = _WORKING_FOR_CDAP if who in self._unlimited else _WORKING
        limiter = self._working.setdefault(who, CapacityLimiter(threads))
        return await run_sync(self._in_turns, function, *arguments, limiter=limiter)

    def _in_turns(self, function: Callable[..., _Done], *arguments: Any) -> _Done:
        with self._turns.taking():
            return function(*arguments)
