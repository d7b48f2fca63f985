"""Reading of lines: from the bytes of a slice of a file, or of a batch of messages, to events and dead letters.

One way for few and for many: a run of few lines reads in its own process, a run of many in Spark's tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

import pyarrow as pa  # type: ignore[import-untyped]

from ranger_cdap.config import SourceSettings
from spark_sync.ingest.dead_letters import MOST_LETTERS, DeadLetter
from spark_sync.ingest.file_slices import FileSlice, read_slice
from spark_sync.ledger.event import EntityEvent
from spark_sync.ledger.ledger_rows import event_batch
from spark_sync.sources.line_reader import LineReader, bytes_of, read_line

_LINES_OF_A_BATCH = 20_000

Line = tuple[str, str, int]
"""A message: its text, and its position as file and block, in which it is the only line."""


@dataclass(frozen=True, slots=True)
class LinesRead:
    """Content of lines: their number, the events as rows of `NEW_EVENTS`, and the dead letters.

    `is_there`: whether the file of a slice was still there.
    """

    lines: int
    events: pa.RecordBatch
    letters: tuple[DeadLetter, ...]
    is_there: bool = True


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Reads lines of a source of a CDAP instance; `now` is the time of the run, in epoch milliseconds. Can be pickled.

    `line_reader`: that of the kind of source.
    """

    line_reader: LineReader
    source: SourceSettings
    instance: str
    now: int

    def slice(self, part: FileSlice) -> LinesRead:
        """Read a slice; nothing of one whose file was deleted.

        Raises:
            ConfigError: its file is no longer regular, or cannot be read.
        """
        found = _LinesSoFar(self)
        try:
            for number, line in enumerate(read_slice(part, self.source.name), start=1):
                found.add(line, part.path, part.start, number)
        except (FileNotFoundError, NotADirectoryError):
            return _LinesSoFar(self).reading(is_there=False)
        return found.reading()

    def messages(self, lines: Iterable[Line]) -> Iterator[LinesRead]:
        """Read messages, in batches of bounded size."""
        rest = iter(lines)
        while batch := list(islice(rest, _LINES_OF_A_BATCH)):
            found = _LinesSoFar(self)
            for line, file, block in batch:
                found.add(bytes_of(line), file, block, 1)
            yield found.reading()


@dataclass(slots=True)
class _LinesSoFar:
    """Content of the lines that were read so far."""

    reader: SourceReader
    lines: int = 0
    rejected: int = 0
    events: list[EntityEvent] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)

    def add(self, line: bytes, file: str, block: int, number: int) -> None:
        self.lines += 1
        reader = self.reader
        reading = read_line(reader.line_reader, line, reader.source, reader.instance, reader.now)
        self.events += reading.events
        if reading.rejected is not None:
            self.rejected += 1
            if len(self.letters) < MOST_LETTERS:
                shown = reading.shown or ""
                self.letters.append(DeadLetter(reader.source.name, file, block, number, reading.rejected, shown))

    def reading(self, *, is_there: bool = True) -> LinesRead:
        letters = list(self.letters)
        if more := self.rejected - len(letters):
            letters.append(
                replace(letters[-1], reason=f"{more:,} more lines after it were rejected", line="", lines=more)
            )
        return LinesRead(self.lines, event_batch(self.reader.instance, self.events), tuple(letters), is_there)
