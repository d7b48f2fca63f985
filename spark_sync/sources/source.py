"""`EventSource`: what a plugin offers to bring its own events in; imported only where PySpark is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from ranger_cdap.config import SourceSettings

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
        StructField("strength", StringType()),
        StructField("user", StringType()),
        StructField("time", LongType()),
    ]
)


@dataclass(frozen=True, slots=True)
class EventSource:
    """A kind of event source.

    `read`: a streaming frame with the columns of `LINES`. `parse`: the same rows with two more columns, `rejected` (why
    the line can't be believed or read, null if it can) and `found` (an array of `FOUND`, often empty); its third
    argument is the CDAP instance that events must belong to. Both are plans for Spark; no Python runs for a row.
    """

    read: Callable[[SparkSession, SourceSettings], DataFrame]
    parse: Callable[[DataFrame, SourceSettings, str], DataFrame]
