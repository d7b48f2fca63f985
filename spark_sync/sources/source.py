"""`EventSource`: what a plugin offers to bring its own events in; imported only where PySpark is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import ConfigError

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
        StructField("requester", StringType()),
    ]
)


def check_path(settings: SourceSettings) -> None:
    """The settings of a source that reads files.

    Raises:
        ConfigError: `path` is missing, or a directory that does not exist.
    """
    if settings.path is None:
        raise ConfigError(f"source `{settings.name}` needs `path`, the directory of its files")
    if not any(c in str(settings.path) for c in "*?[{") and not settings.path.exists():
        raise ConfigError(f"`{settings.path}`, the directory of source `{settings.name}`, does not exist")


@dataclass(frozen=True, slots=True)
class EventSource:
    """A kind of event source.

    `read`: a streaming frame with the columns of `LINES`. `parse`: the same rows with two more columns, `rejected` (why
    the line can't be believed or read, null if it can) and `found` (an array of `FOUND`, often empty); its third
    argument is the CDAP instance that events must belong to. Both are plans for Spark; no Python runs for a row.
    `check` raises `ConfigError` where the settings of the source can't be used. `rank` is the rank of a source that is
    configured without one. `line_is_block`: no two lines share file and block (messages), so that the
    place of one is known without counting. `packages`: Maven coordinates of what Spark lacks to read it.
    """

    read: Callable[[SparkSession, SourceSettings], DataFrame]
    parse: Callable[[DataFrame, SourceSettings, str], DataFrame]
    check: Callable[[SourceSettings], None] = check_path
    rank: int = 0
    line_is_block: bool = False
    packages: tuple[str, ...] = ()
