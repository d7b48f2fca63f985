"""When a run needs Spark: `Few`; and `SparkOnDemand`, a session that starts then and ends when it was idle."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import KW_ONLY, dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from ranger_cdap.config import SyncSettings
from spark_sync.ledger.ledger import FEW_EVENTS
from spark_sync.spark.session import spark_session
from spark_sync.spark.submission import LOCAL_MASTER, is_submitted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IDLE: Final = 300.0
"""Seconds without use after which `release_idle` ends the session: a driver holds up to 2 GB."""


@dataclass(frozen=True, slots=True)
class Few:
    """Bytes of a source's new files, and new events, up to which they are read and folded in this process.

    For more, Spark is faster on several processors, though it takes twice their time and three times the memory.
    """

    bytes: int = 4_000_000_000
    events: int = FEW_EVENTS


FEW: Final = Few()
ON_A_CLUSTER: Final = Few(64_000_000, 50_000)
"""Executors wait there, and a driver's container has little memory."""


@dataclass(eq=False, slots=True)
class SparkOnDemand:
    """Callable that returns the session; a context manager that ends it. Under `spark-submit` it starts at once.

    `starting` is called before the start, which takes seconds; `opened` is as `spark_session`.
    """

    settings: SyncSettings
    _: KW_ONLY
    master: str = LOCAL_MASTER
    starting: Callable[[], None] = lambda: None
    clock: Callable[[], float] = time.monotonic
    opened: Callable[..., AbstractContextManager[SparkSession]] = spark_session
    _stack: ExitStack = field(default_factory=ExitStack)
    _session: SparkSession | None = None
    _used: float = 0.0

    @property
    def few(self) -> Few:
        """Return how much a run reads and folds in its process."""
        return FEW if self.master == LOCAL_MASTER and not is_submitted() else ON_A_CLUSTER

    def __call__(self) -> SparkSession:
        """Return the session, started if necessary.

        Raises:
            SparkMissing, ConfigError, SyncError: as `spark_session`.
        """
        if self._session is None:
            self.starting()
            self._session = self._stack.enter_context(self.opened(self.settings, master=self.master))
        self._used = self.clock()
        return self._session

    def release_idle(self) -> None:
        """End a session of ours that was idle for `IDLE` seconds; the next call starts another one."""
        if self._session is not None and not is_submitted() and self.clock() >= self._used + IDLE:
            self._session = None
            self._stack.close()

    def __enter__(self) -> Self:
        if is_submitted():
            self()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._session = None
        self._stack.__exit__(kind, error, traceback)
