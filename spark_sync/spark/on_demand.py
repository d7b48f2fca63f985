"""When a run needs Spark: `Few`; and `SparkOnDemand`, a session that starts then and ends when it was idle."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
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

    For more, Spark is faster on several processors, its start included.
    """

    bytes: int = 64_000_000
    events: int = FEW_EVENTS


FEW: Final = Few()


class SparkOnDemand:
    """Callable that returns the session; a context manager that ends it. Under `spark-submit` it starts at once."""

    def __init__(
        self,
        settings: SyncSettings,
        *,
        master: str = LOCAL_MASTER,
        starting: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        opened: Callable[..., AbstractContextManager[SparkSession]] = spark_session,
    ) -> None:
        """Prepare; nothing starts yet.

        Args:
            starting: called before the start, which takes seconds.
            opened: as `spark_session`.
        """
        self._settings = settings
        self._master = master
        self._starting = starting
        self._clock = clock
        self._opened = opened
        self._stack = ExitStack()
        self._session: SparkSession | None = None
        self._used = 0.0

    def __call__(self) -> SparkSession:
        """Return the session, started if necessary.

        Raises:
            SparkMissing, ConfigError, SyncError: as `spark_session`.
        """
        if self._session is None:
            self._starting()
            self._session = self._stack.enter_context(self._opened(self._settings, master=self._master))
        self._used = self._clock()
        return self._session

    def release_idle(self) -> None:
        """End a session of ours that was idle for `IDLE` seconds; the next call starts another one."""
        if self._session is not None and not is_submitted() and self._clock() >= self._used + IDLE:
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
