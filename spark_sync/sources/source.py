"""`EventSource`: the interface of event sources, also those of plugins; PySpark is imported only for schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from ranger_cdap.config import SourceSettings
from spark_sync.sources.line_reader import LineReader
from spark_sync.sources.regular_files import check_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    LINES: StructType
    FOUND: StructType

LINE_FIELDS: Final[Mapping[str, str]] = {"line": "string", "file": "string", "block": "bigint"}
"""The columns of `LINES`, with their types."""

FOUND_FIELDS: Final[Mapping[str, str]] = {
    "id": "string",
    "type": "string",
    "parts": "array<string>",
    "kind": "string",
    "stage": "string",
    "outcome": "string",
    "user": "string",
    "requester": "string",
    "started": "bigint",
    "ended": "bigint",
    "clock": "string",
    "check": "string",
    "request": "string",
    "version": "string",
    "child": "string",
    "received": "bigint",
    "caller": "string",
    "requested": "bigint",
}
"""The columns of `FOUND`, an event, in the fields of `spark_sync.ledger.event.EntityEvent`, where each is described.

`type` and `parts` are the entity's; times are epoch milliseconds. A source must fill `id` (the same for the same event,
however often it is read), `type`, `parts`, `kind`, `stage`, `outcome`, `user`, `started` and `ended`; a null in another
field means its default. `stage` is `message` if the origin reports only creations that happened, `request` if it
reports the answer to a request.
"""

Parse = Callable[["DataFrame", SourceSettings, str, int], "DataFrame"]


@dataclass(frozen=True, slots=True)
class EventSource:
    """A kind of event source.

    `read` returns a streaming frame with the columns of `LINES`. `parse` returns the same rows with two more columns,
    `rejected` (why the line cannot be trusted or read, null if it can) and `found` (an array of `FOUND`, often empty);
    its third argument is the CDAP instance of the events, its fourth the time of the run in epoch milliseconds.
    `parsed_by` (in `line_batches`) makes one from a pure function that reads a line. Of a rejected line only events of
    the stage `rejected` count. `check` raises `ConfigError` if the settings of the source cannot be used. `rank` is the
    default rank. `line_is_block`: no two lines share file and block (messages), so that positions are known without
    counting. `packages`: Maven coordinates of the packages that Spark needs to read it, where `{spark}` stands for
    the version of PySpark.

    `reader`: the function that reads a line, for kinds whose lines are in text files at `path`. Then the job lists the
    files itself, has few of them read by `reader` and many by Spark with `parse`, and never calls `read`.
    """

    read: Callable[[SparkSession, SourceSettings], DataFrame]
    parse: Parse
    check: Callable[[SourceSettings], None] = check_path
    rank: int = 0
    line_is_block: bool = False
    packages: tuple[str, ...] = ()
    reader: LineReader | None = None


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


@cache
def _schema(name: str) -> StructType:
    from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

    types = {"string": StringType(), "bigint": LongType(), "array<string>": ArrayType(StringType())}
    return StructType([StructField(field, types[kind]) for field, kind in _SCHEMAS[name].items()])


_SCHEMAS: Final = {"LINES": LINE_FIELDS, "FOUND": FOUND_FIELDS}

if not TYPE_CHECKING:  # for a type checker, a module `__getattr__` would make every name valid

    def __getattr__(name: str) -> object:
        if name not in _SCHEMAS:
            raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
        return _schema(name)
