"""`EventSource`: the interface of event sources, also those of plugins; imported only if PySpark is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from ranger_cdap.config import SourceSettings
from spark_sync.sources.regular_files import check_path

LINES = StructType(
    [
        StructField("line", StringType()),
        StructField("file", StringType()),
        StructField("block", LongType()),
    ]
)

FOUND = StructType(
    [
        StructField("id", StringType()),
        StructField("type", StringType()),
        StructField("parts", ArrayType(StringType())),
        StructField("kind", StringType()),
        StructField("stage", StringType()),
        StructField("outcome", StringType()),
        StructField("user", StringType()),
        StructField("requester", StringType()),
        StructField("started", LongType()),
        StructField("ended", LongType()),
        StructField("clock", StringType()),
        StructField("check", StringType()),
        StructField("request", StringType()),
        StructField("version", StringType()),
        StructField("child", StringType()),
        StructField("received", LongType()),
        StructField("caller", StringType()),
        StructField("requested", LongType()),
    ]
)
"""An event, in the fields of `spark_sync.ledger.event.EntityEvent`, where each is described.

`type` and `parts` are the entity's; times are epoch milliseconds. A source must fill `id` (the same for the same event,
however often it is read), `type`, `parts`, `kind`, `stage`, `outcome`, `user`, `started` and `ended`; a null in another
field means its default. `stage` is `message` if the origin reports only creations that happened, `request` if it
reports the answer to a request.
"""

Parse = Callable[[DataFrame, SourceSettings, str, int], DataFrame]


@dataclass(frozen=True, slots=True)
class EventSource:
    """A kind of event source.

    `read` returns a streaming frame with the columns of `LINES`. `parse` returns the same rows with two more columns,
    `rejected` (why the line cannot be trusted or read, null if it can) and `found` (an array of `FOUND`, often empty);
    its third argument is the CDAP instance of the events, its fourth the time of the run in epoch milliseconds.
    `parsed_by` (in `line_batches`) makes one from a pure function that reads a line. Of a rejected line only events of
    the stage `rejected` count. `check` raises `ConfigError` if the settings of the source cannot be used. `rank` is the
    default rank. `line_is_block`: no two lines share file and block (messages), so that positions are known without
    counting. `packages`: Maven coordinates of the packages that Spark needs to read it.
    """

    read: Callable[[SparkSession, SourceSettings], DataFrame]
    parse: Parse
    check: Callable[[SourceSettings], None] = check_path
    rank: int = 0
    line_is_block: bool = False
    packages: tuple[str, ...] = ()
