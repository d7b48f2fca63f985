"""Progress is shown in counts of tasks while Spark works, and the watch ends with the work."""

from __future__ import annotations

import re
import threading
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_the_tasks_of_a_running_stage_are_counted(spark: SparkSession) -> None:
    from spark_sync.spark.task_progress import task_progress

    shown: list[str] = []

    def slow(part: int) -> int:
        time.sleep(0.4)
        return part

    with task_progress(spark, shown.append, "asking"):
        assert spark.sparkContext.parallelize(range(6), 6).map(slow).sum() == 15

    counts = [re.fullmatch(r"asking: (\d+) of 6 parts", message) for message in shown]
    assert counts
    assert all(counts)
    finished = [int(found[1]) for found in counts if found]
    assert finished == sorted(finished)
    assert all(thread.name != "progress of Spark" for thread in threading.enumerate())


def test_an_error_of_the_work_is_raised_and_the_watch_ends(spark: SparkSession) -> None:
    from spark_sync.spark.task_progress import task_progress

    with pytest.raises(ValueError, match="of the work"), task_progress(spark, lambda _: None, "asking"):
        raise ValueError("of the work")
    assert all(thread.name != "progress of Spark" for thread in threading.enumerate())
