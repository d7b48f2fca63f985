"""Rate limit of requests, shared by all threads of a client."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from ranger_cdap.forks import ForkLock

UNLIMITED: Final = 0.0


class RateLimiter:
    """Spaces requests evenly: at most `rate` per second, without a limit if it is 0."""

    def __init__(
        self,
        rate: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._distance = 1 / rate if rate else UNLIMITED
        self._clock, self._sleep = clock, sleep
        self._lock = ForkLock()
        self._next = 0.0

    def wait(self) -> None:
        """Wait until the next request may be sent."""
        if not self._distance:
            return
        with self._lock:
            now = self._clock()
            mine = max(now, self._next)
            self._next = mine + self._distance
        self._sleep(mine - now)
