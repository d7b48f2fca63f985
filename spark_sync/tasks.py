"""`Tasks`: a pure function over the parts of some work, in this process or by Spark's executors, with equal results.

And `in_another_thread`, for what this process must not wait for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from ranger_cdap.collector import gc_paused

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import SparkSession

_In = TypeVar("_In")
_Out = TypeVar("_Out")

_WAVE: Final = 4
"""Parts per processor that are in memory at a time."""


class Tasks(Protocol):
    """Applies a function to each part, and yields the results in the order of the parts."""

    def __call__(self, function: Callable[[_In], _Out], parts: Iterable[_In]) -> Iterator[_Out]:
        """Return the results; the function and its parts can be pickled."""


def here(function: Callable[[_In], _Out], parts: Iterable[_In]) -> Iterator[_Out]:
    """Run in this process; implements `Tasks`."""
    return map(partial(_uncollected, function), parts)


def on_spark(spark: Callable[[], SparkSession]) -> Tasks:
    """Return tasks that run where Spark's executors are."""

    def run(function: Callable[[_In], _Out], parts: Iterable[_In]) -> Iterator[_Out]:
        context, rest = spark().sparkContext, iter(parts)
        while wave := list(islice(rest, _WAVE * context.defaultParallelism)):
            yield from context.parallelize(wave, len(wave)).map(partial(_uncollected, function)).collect()

    return run


def _uncollected(function: Callable[[_In], _Out], part: _In) -> _Out:
    with gc_paused():
        return function(part)


def in_another_thread(act: Callable[[], _Out], name: str) -> Future[_Out]:
    """Begin in another thread, which does not keep Python from ending; its result, or why there is none."""
    result: Future[_Out] = Future()

    def run() -> None:
        try:
            result.set_result(act())
        except BaseException as e:
            result.set_exception(e)

    try:
        threading.Thread(target=run, name=name, daemon=True).start()
    except RuntimeError as e:  # there are too many
        result.set_exception(e)
    return result


def partition_results(rows: RDD[_In], function: Callable[[Iterable[_In]], Iterable[_Out]]) -> Iterator[_Out]:
    """Yield what a function makes of each partition of Spark's rows, in their order, so many partitions at a time."""
    context, count = rows.context, rows.getNumPartitions()
    for start in range(0, count, context.defaultParallelism):
        wave = range(start, min(start + context.defaultParallelism, count))
        yield from context.runJob(rows, function, wave)
