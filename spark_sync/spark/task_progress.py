"""Progress of Spark's work in counts of its tasks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PERIOD: Final = 0.5


@contextmanager
def task_progress(spark: SparkSession, show: Callable[[str], None], what: str) -> Iterator[None]:
    """Show `what` with the number of finished tasks of the running stages, twice a second, until the end.

    Spark plans one stage after another, so the counts are those of the present stages, not of all the work.
    """
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(spark, show, what, ended), name="progress of Spark", daemon=True)
    watch.start()
    try:
        yield
    finally:
        ended.set()
        watch.join()


def _watch(spark: SparkSession, show: Callable[[str], None], what: str, ended: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not ended.wait(_PERIOD):
        try:
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except (Py4JError, OSError):  # the driver ends; the work itself reports that
            return
        tasks = sum(stage.numTasks for stage in stages if stage)
        if tasks:
            show(f"{what}: {sum(stage.numCompletedTasks for stage in stages if stage)} of {tasks} parts")
