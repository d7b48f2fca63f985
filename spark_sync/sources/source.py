"""`EventSource`: the interface of event sources, also those of plugins. Without Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ranger_cdap.config import NetworkSettings, SourceSettings
from spark_sync.sources.line_reader import LineReader
from spark_sync.sources.regular_files import list_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LINES: Final = "line string, file string, block bigint"
"""The columns of lines in Spark: the text, and its position for dead letters."""


@dataclass(frozen=True, slots=True)
class EventSource:
    """A kind of event source.

    `reader` reads a line; Spark's executors must be able to import it. Few lines are read by it in the process of the
    job, many by Spark's executors; it returns events as it finds them, and the job checks them. `check` raises
    `ConfigError` if the settings of the source cannot be used. `rank` is the default rank.

    The lines are in text files at `path`, which the job lists itself. Of another kind of source `stream` returns a
    streaming frame with the columns of `LINES`, in which no two lines share file and block; `packages` are the Maven
    coordinates of the packages that Spark needs for it, where `{spark}` stands for the version of PySpark.
    """

    reader: LineReader
    rank: int
    stream: Callable[[SparkSession, SourceSettings, NetworkSettings], DataFrame] | None = None
    check: Callable[[SourceSettings], object] = list_files
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceReport:
    """Counts of a source in a run: lines read, lines rejected (see the dead letters), new events."""

    name: str
    lines: int = 0
    rejected: int = 0
    events: int = 0

    def __add__(self, other: SourceReport) -> SourceReport:
        """Return the sum of two batches of one source."""
        return SourceReport(
            self.name, self.lines + other.lines, self.rejected + other.rejected, self.events + other.events
        )
