"""Ingestion of a source: few new lines are read in this process, many on Spark; each file once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ranger_cdap.config import Settings, SourceSettings
from ranger_cdap.service.events.watermark import Watermark
from spark_sync.ingest.dead_letters import write_dead_letters
from spark_sync.ingest.file_reading import read_lines
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.sources.file_log import FileLog, checkpoint_of
from spark_sync.sources.line_reader import LineReader
from spark_sync.sources.missing_files import check_files
from spark_sync.sources.regular_files import SourceFile, list_files
from spark_sync.sources.source import EventSource, SourceReport
from spark_sync.spark.on_demand import FEW, Few

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH: Final = 512_000_000
"""Bytes of files, more only if a single file has more, that Spark reads at once."""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """Reads sources into the ledger.

    `marks`: the watermarks of the sources. `now`: the time of the run, in epoch milliseconds. `progress` receives short
    messages that begin with the source.
    """

    settings: Settings
    ledger: DeltaLedger
    spark: Callable[[], SparkSession]
    marks: Mapping[str, Watermark]
    now: int
    few: Few = FEW
    progress: Callable[[str], None] = lambda _: None

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
            return self._stream(configured, source, source.stream(self.spark(), configured, self.settings.network))
        log = FileLog(checkpoint_of(self.settings, configured))
        new = log.unread(list_files(configured))
        check_files(configured, self.marks.get(configured.name), log)
        total, size = SourceReport(configured.name), sum(file.size for file in new)
        if not new:
            return total
        if size <= self.few.bytes:
            return self._read_few(configured, source.reader, log, new)
        for files in _batches(new):
            self.progress(f"{stage}: {total.lines:,} lines, {size / 1e6:,.0f} MB to read")
            total += self._read_many(configured, source, files)
            log.add(files)
            size -= sum(file.size for file in files)
        return total

    def _read_few(
        self, configured: SourceSettings, reader: LineReader, log: FileLog, files: Sequence[SourceFile]
    ) -> SourceReport:
        found = read_lines(files, reader, configured, self.settings.cdap.instance, self.now)
        rejected = write_dead_letters(found.dead_letters, self.settings.sync.state_dir)
        events = self.ledger.add_events(found.events)
        log.add(found.files)
        return SourceReport(configured.name, found.lines, rejected, events)

    def _read_many(self, configured: SourceSettings, source: EventSource, files: Sequence[SourceFile]) -> SourceReport:
        from spark_sync.sources.text_files import read_files

        return self._extract(read_files(self.spark(), [file.path for file in files]), configured, source)

    def _stream(self, configured: SourceSettings, source: EventSource, frame: DataFrame) -> SourceReport:
        """Read a stream by one query with its own checkpoint."""
        total = SourceReport(configured.name)

        def take(batch: DataFrame, _: int) -> None:
            nonlocal total
            total += self._extract(batch, configured, source)

        query = (
            frame.writeStream.trigger(availableNow=True)
            .option("checkpointLocation", str(checkpoint_of(self.settings, configured)))
            .foreachBatch(take)
            .start()
        )
        query.awaitTermination()
        return total

    def _extract(self, lines: DataFrame, configured: SourceSettings, source: EventSource) -> SourceReport:
        from spark_sync.ingest.extraction import Extraction

        with Extraction(lines, source, configured, self.settings.cdap.instance, now=self.now) as extraction:
            return SourceReport(
                configured.name,
                extraction.line_count(),
                write_dead_letters(extraction.dead_letters(), self.settings.sync.state_dir),
                self.ledger.add_frame(extraction.events()),
            )


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
