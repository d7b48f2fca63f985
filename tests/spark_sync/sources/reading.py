"""What a source finds in lines that are already there, in Spark and without it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ranger_cdap.config import SourceSettings
from spark_sync.ledger.event import ChangeKind, EntityEvent, Outcome, Stage
from spark_sync.sources import audit, data_plane, http_access, line_reader
from spark_sync.sources.line_reader import LineReader, LineReading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from spark_sync.ingest.dead_letters import DeadLetter

NOW = 1_900_000_000_000

READERS: dict[str, LineReader] = {
    "audit": audit.read,
    "audit-kafka": audit.read,
    "audit-messaging": audit.read,
    "data-plane": data_plane.read,
    "http-access": http_access.read,
}

Found = tuple[str, str, str, int]
"""What was created or deleted: kind, entity, user, time."""


def read_line(kind: str, line: str, *, now: int = NOW, **given: Any) -> LineReading:
    """What is read of a line of that kind."""
    configured = SourceSettings(name="s", kind=kind, **given)
    return line_reader.read_line(READERS[kind], line_reader.bytes_of(line), configured, "cdap", now)


def done(events: Iterable[EntityEvent]) -> list[Found]:
    """What surely happened, in the order of time and entity."""
    found = [(e.kind.value, str(e.entity), e.user, e.position.time) for e in events if is_done(e.stage, e.outcome)]
    return sorted(found, key=lambda each: (each[3], each[1]))


def is_done(stage: str, outcome: str) -> bool:
    return outcome == Outcome.DONE and stage != Stage.REJECTED


def frame_of(spark: SparkSession, lines: Iterable[str]) -> DataFrame:
    """Lines as a source delivers them; a line's number is its `block`."""
    from spark_sync.sources.source import LINES

    return spark.createDataFrame([(line, "f", n) for n, line in enumerate(lines, start=1)], LINES)


def rows_in(
    spark: SparkSession, kind: str, lines: DataFrame, *, now: int = NOW, **given: Any
) -> tuple[list[Row], list[DeadLetter]]:
    """The events with all columns, in the order of time and entity, and the dead letters."""
    from spark_sync.ingest.extraction import Extraction
    from spark_sync.sources.registry import event_sources

    configured = SourceSettings(name="s", kind=kind, **given)
    with Extraction(lines, event_sources()[kind], configured, "cdap", now=now) as extraction:
        return extraction.events().orderBy("time", "entity", "id").collect(), list(extraction.dead_letters())


def found_in(spark: SparkSession, kind: str, lines: DataFrame, **given: Any) -> tuple[list[Found], list[DeadLetter]]:
    """What surely happened, in the order of time and entity, and the dead letters."""
    rows, dead = rows_in(spark, kind, lines, **given)
    found = [(row.kind, row.entity, row.user, row.time) for row in rows if is_done(row.stage, row.outcome)]
    return found, dead


def event_of(row: Row) -> EntityEvent:
    """The event that a row of `Extraction.events` stands for."""
    from ranger_cdap.cdap.entity import EntityId

    names = EntityEvent.__dataclass_fields__.keys() - {"entity", "kind", "stage", "outcome"}
    return EntityEvent(
        entity=EntityId(row.type, tuple(row.parts)),
        kind=ChangeKind(row.kind),
        stage=Stage(row.stage),
        outcome=Outcome(row.outcome),
        **{name: row[name] for name in names},
    )
