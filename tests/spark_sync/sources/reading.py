"""What a source finds in lines that are already there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ranger_cdap.config import SourceSettings
from spark_sync.ingest.dead_letters import DeadLetter
from spark_sync.ingest.file_slices import slices_of
from spark_sync.ingest.reading import Line, LinesRead, SourceReader
from spark_sync.ledger.event import EntityEvent, Outcome, Stage
from spark_sync.sources import line_reader
from spark_sync.sources.built_in import built_in_sources
from spark_sync.sources.line_reader import LineReading
from spark_sync.sources.registry import event_sources
from spark_sync.sources.regular_files import list_files

NOW = 1_900_000_000_000

READERS = {kind: source.reader for kind, source in built_in_sources().items()}

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


def numbered(lines: Iterable[str]) -> list[Line]:
    """Lines as messages of one file; a line's number is its `block`."""
    return [(line, "f", n) for n, line in enumerate(lines, start=1)]


def reader_of(kind: str, *, now: int = NOW, **given: Any) -> SourceReader:
    return SourceReader(event_sources()[kind].reader, SourceSettings(name="s", kind=kind, **given), "cdap", now)


def rows_in(kind: str, lines: Iterable[Line], *, now: int = NOW, **given: Any) -> tuple[list[Any], list[DeadLetter]]:
    """The events with all columns, each once, in the order of time and entity, and the dead letters."""
    return _together(reader_of(kind, now=now, **given).messages(lines))


def rows_of_files(kind: str, path: Path, **given: Any) -> tuple[list[Any], list[DeadLetter]]:
    """As `rows_in`, of the files of a source."""
    reader = reader_of(kind, path=path, **given)
    return _together(reader.slice(part) for file in list_files(reader.source) for part in slices_of(file))


def _together(readings: Iterable[LinesRead]) -> tuple[list[Any], list[DeadLetter]]:
    once: dict[str, SimpleNamespace] = {}
    dead: list[DeadLetter] = []
    for reading in readings:
        for row in reading.events.to_pylist():
            once.setdefault(row["id"], SimpleNamespace(**row))
        dead += reading.letters
    return sorted(once.values(), key=lambda row: (row.time, row.entity, row.id)), dead


def what_is_done(rows: Iterable[Any]) -> list[Found]:
    """What surely happened, of rows in their order."""
    return [(row.kind, row.entity, row.user, row.time) for row in rows if is_done(row.stage, row.outcome)]


def found_in(kind: str, lines: Iterable[Line], **given: Any) -> tuple[list[Found], list[DeadLetter]]:
    """What surely happened, in the order of time and entity, and the dead letters."""
    rows, dead = rows_in(kind, lines, **given)
    return what_is_done(rows), dead


def found_in_files(kind: str, path: Path, **given: Any) -> tuple[list[Found], list[DeadLetter]]:
    """As `found_in`, of the files of a source."""
    rows, dead = rows_of_files(kind, path, **given)
    return what_is_done(rows), dead
