"""Reading of lines: from the bytes of a slice of a file, or of a batch of messages, to events and dead letters.

One way for few and for many: a run of few lines reads in its own process, a run of many in Spark's tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
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
        lines = enumerate(read_slice(part, self.source.name), start=1)
        try:
            return self._read((line, part.path, part.start, number) for number, line in lines)
        except (FileNotFoundError, NotADirectoryError):
            return replace(self._read([]), is_there=False)

    def messages(self, lines: Iterable[Line]) -> Iterator[LinesRead]:
        """Read messages, in batches of bounded size."""
        rest = iter(lines)
        while batch := list(islice(rest, _LINES_OF_A_BATCH)):
            yield self._read((bytes_of(line), file, block, 1) for line, file, block in batch)

    def _read(self, lines: Iterable[tuple[bytes, str, int, int]]) -> LinesRead:
        """Read lines, each with its position: file, block, and number in it."""
        count, rejected, events, letters = 0, 0, list[EntityEvent](), list[DeadLetter]()
        for line, file, block, number in lines:
            count += 1
            reading = read_line(self.line_reader, line, self.source, self.instance, self.now)
            events += reading.events
            if reading.rejected is not None:
                rejected += 1
                letters.append(DeadLetter(self.source.name, file, block, number, reading.rejected, reading.shown or ""))
                del letters[MOST_LETTERS:]
        if more := rejected - len(letters):
            reason = f"{more:,} more lines after it were rejected"
            letters.append(replace(letters[-1], reason=reason, line="", lines=more))
        return LinesRead(count, event_batch(self.instance, events), tuple(letters))
