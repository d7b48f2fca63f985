"""`Tasks`: a pure function over the parts of some work, in this process or by Spark's executors, with equal results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
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
    return map(function, parts)


def on_spark(spark: Callable[[], SparkSession]) -> Tasks:
    """Return tasks that run where Spark's executors are."""

    def run(function: Callable[[_In], _Out], parts: Iterable[_In]) -> Iterator[_Out]:
        context, rest = spark().sparkContext, iter(parts)
        while wave := list(islice(rest, _WAVE * context.defaultParallelism)):
            yield from context.parallelize(wave, len(wave)).map(function).collect()

    return run
