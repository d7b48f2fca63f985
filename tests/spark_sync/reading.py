"""What a source finds in lines that are already there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ranger_cdap.config import SourceSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_sync.extraction import DeadLetter

NOW = 1_900_000_000_000

Found = tuple[str, str, str, int]


def frame_of(spark: SparkSession, lines: Iterable[str]) -> DataFrame:
    """Lines as a source delivers them; a line's number is its `block`."""
    from spark_sync.sources.source import LINES

    return spark.createDataFrame([(line, "f", n) for n, line in enumerate(lines, start=1)], LINES)


def found_in(spark: SparkSession, kind: str, lines: DataFrame, **given: Any) -> tuple[list[Found], list[DeadLetter]]:
    """The events (kind, entity, user, time) in the order of time and entity, and the dead letters."""
    from spark_sync.extraction import Extraction
    from spark_sync.sources.registry import event_sources

    configured = SourceSettings(name="s", kind=kind, **given)
    with Extraction(lines, event_sources()[kind], configured, "cdap", now=NOW) as extraction:
        rows = extraction.events().orderBy("time", "entity").collect()
        return [(row.kind, row.entity, row.user, row.time) for row in rows], list(extraction.dead_letters())
