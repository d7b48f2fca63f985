"""Ingestion of a source: few new lines are read in this process, many in Spark's tasks; each file once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # type: ignore[import-untyped]

from ranger_cdap.config import NetworkSettings, SourceSettings, for_spark
from ranger_cdap.wire.watermark import Watermark
from spark_sync.ingest.dead_letters import write_dead_letters
from spark_sync.ingest.file_slices import slices_of
from spark_sync.ingest.reading import LinesRead, SourceReader
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.sources.missing_files import check_files
from spark_sync.sources.regular_files import SourceFile, list_files
from spark_sync.sources.source import EventSource, SourceReport
from spark_sync.spark.on_demand import Few
from spark_sync.tasks import Tasks, here, on_spark, partition_results

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHECKPOINTS: Final = "checkpoints"
"""The directory below the state directory in which Spark notes how far it read the sources that are streams."""

BATCH: Final = 512_000_000
"""Bytes of files, more only if a single file has more, that are read before they are recorded as read."""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """Reads sources into the ledger.

    `marks`: the watermarks of the sources. `now`: the time of the run, in epoch milliseconds. `progress` receives short
    messages that begin with the source.
    """

    network: NetworkSettings
    ledger: DeltaLedger
    spark: Callable[[], SparkSession]
    marks: Mapping[str, Watermark]
    now: int
    few: Few
    progress: Callable[[str], None]

    def read(self, configured: SourceSettings, source: EventSource) -> SourceReport:
        """Read what is new in a source: lines are read once, and reading them twice changes nothing.

        Raises:
            ConfigError: the settings of the source cannot be used.
            LedgerLost: files were deleted that were not read; nothing is read.
            SyncError: Spark, the ledger or the record of what was read failed.
        """
        stage = f"reading source {configured.name}"
        self.progress(stage)
        if source.stream is not None:
            return self._stream(configured, source, source.stream(self.spark(), configured, self.network))
        read = self.ledger.notes.files_read(configured.name)
        new = [file for file in list_files(configured) if file.path not in read]
        check_files(configured, self.marks.get(configured.name), read)
        total, size = SourceReport(configured.name), sum(file.size for file in new)
        tasks = here if size <= self.few.bytes else on_spark(self.spark)
        reader = self._reader(configured, source)
        for files in _batches(new):
            if size > BATCH:
                self.progress(f"{stage}: {total.lines:,} lines, {size / 1e6:,.0f} MB to read")
            total += self._files(reader, tasks, files)
            size -= sum(file.size for file in files)
        return total

    def _reader(self, configured: SourceSettings, source: EventSource) -> SourceReader:
        return SourceReader(source.reader, configured, self.ledger.instance, self.now)

    def _files(self, reader: SourceReader, tasks: Tasks, files: Sequence[SourceFile]) -> SourceReport:
        slices = [part for file in files for part in slices_of(file)]
        gone = set[str]()

        def found() -> Iterator[LinesRead]:
            for part, reading in zip(slices, tasks(reader.slice, slices), strict=True):
                if not reading.is_there:
                    gone.add(part.path)
                yield reading

        report = self._take(reader.source, found())
        self.ledger.notes.add_files(reader.source.name, {file.path for file in files} - gone)
        return report

    def _stream(self, configured: SourceSettings, source: EventSource, frame: DataFrame) -> SourceReport:
        """Read a stream by one query with its own checkpoint."""
        total, reader = SourceReport(configured.name), self._reader(configured, source)

        def take(batch: DataFrame, _: int) -> None:
            nonlocal total
            total += self._take(configured, partition_results(batch.rdd, reader.messages))

        query = (
            frame.writeStream.trigger(availableNow=True)
            .option("checkpointLocation", for_spark(self.ledger.directory / CHECKPOINTS / configured.name))
            .foreachBatch(take)
            .start()
        )
        query.awaitTermination()
        return total

    def _take(self, configured: SourceSettings, readings: Iterable[LinesRead]) -> SourceReport:
        """Write dead letters and store events while lines are read."""
        lines = rejected = 0

        def events() -> Iterator[pa.RecordBatch]:
            nonlocal lines, rejected
            for reading in readings:
                lines += reading.lines
                rejected += write_dead_letters(reading.letters, self.ledger.directory)
                yield reading.events

        stored = self.ledger.add_batches(events())
        return SourceReport(configured.name, lines, rejected, stored)


def _batches(files: Sequence[SourceFile]) -> Iterator[list[SourceFile]]:
    """Split files into batches of about `BATCH` bytes."""
    batch: list[SourceFile] = []
    size = 0
    for file in files:
        if batch and size + file.size > BATCH:
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += file.size
    if batch:
        yield batch
