"""Extraction of events and rejected lines from a batch of lines: each line is read once, by Spark's executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, Observation, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.functions import arrow_udf

from ranger_cdap.config import SourceSettings
from ranger_cdap.ranger_model.strict_json import HALF, LONGEST
from spark_sync.ingest.dead_letters import MOST_OF_A_FILE, DeadLetter
from spark_sync.ledger.ledger_rows import NEW_EVENTS, event_columns
from spark_sync.ledger.spark_rows import struct_of
from spark_sync.sources.line_reader import LineReading, read_line
from spark_sync.sources.source import EventSource

_READ: Final = struct_of(
    pa.schema(
        [
            pa.field("rejected", pa.string()),
            pa.field("shown", pa.string()),
            pa.field("found", pa.list_(pa.struct(list(NEW_EVENTS)))),
        ]
    )
)


class Extraction:
    """A batch of lines, read once on entering the context and persisted by Spark until its end."""

    def __init__(
        self, lines: DataFrame, source: EventSource, settings: SourceSettings, instance: str, *, now: int
    ) -> None:
        def read_batch(raw: pa.Array) -> pa.Array:
            lines = (line or b"" for line in raw.to_pylist())
            return _as_arrow([read_line(source.reader, line, settings, instance, now) for line in lines], instance)

        # A deterministic function would be run again for each column and condition that uses its result. (The stub of
        # `arrow_udf` lacks the form that takes the kind of function from its type hints, which PySpark recommends.)
        read = arrow_udf(read_batch, _READ).asNondeterministic()  # type: ignore[call-overload]
        self._lines = lines.withColumn("row", F.monotonically_increasing_id())
        self._seen = Observation()
        seen = self._lines.observe(self._seen, F.count(F.lit(1)).alias("lines"))
        self._rows = (
            seen.select("file", "block", "row", read(_cut(F.col("line"))).alias("read"))
            .select("file", "block", "row", "read.*")
            .where((F.size("found") > 0) | F.col("rejected").isNotNull())
        )
        self._source = settings.name
        self._line_is_block = source.stream is not None
        self._refused = False

    def __enter__(self) -> Extraction:
        self._rows = self._rows.persist()
        try:
            # Evaluates every row, so that all of them are persisted from now on.
            (counted,) = self._rows.agg(F.count("rejected").alias("refused")).collect()
        except BaseException:
            self._rows.unpersist()
            raise
        self._refused = counted.refused > 0
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.unpersist()

    def line_count(self) -> int:
        """Return the number of lines in the batch."""
        return int(self._seen.get["lines"])

    def events(self) -> DataFrame:
        """Return the events with the columns of `NEW_EVENTS`, each id once, those of rejected lines too."""
        rest = [name for name in NEW_EVENTS.names if name != "id"]
        once = self._rows.select(F.inline("found")).groupBy("id").agg(F.min(F.struct(*rest)).alias("event"))
        return once.select("id", "event.*")

    def dead_letters(self) -> Iterator[DeadLetter]:
        """Return the rejected lines by file and line; of a file with many, the first ones and a count."""
        if not self._refused:
            return
        of_file = Window.partitionBy("file")
        rejected = (
            self._rows.where(F.col("rejected").isNotNull())
            .withColumn("place", F.row_number().over(of_file.orderBy("block", "row")))
            .withColumn("more", F.count(F.lit(1)).over(of_file) - MOST_OF_A_FILE)
            .where(F.col("place") <= MOST_OF_A_FILE)
        )
        wanted = ("file", "block", "number", "rejected", "shown", "place", "more")
        numbered = self._numbered(rejected).select(*wanted).orderBy("file", "block", "number")
        for row in numbered.toLocalIterator():
            yield DeadLetter(self._source, row.file, row.block, row.number, row.rejected, row.shown)
            if row.place == MOST_OF_A_FILE and row.more > 0:
                reason = f"{row.more:,} more lines of this file were rejected"
                yield DeadLetter(self._source, row.file, row.block, row.number, reason, "", row.more)

    def _numbered(self, rejected: DataFrame) -> DataFrame:
        if self._line_is_block:
            return rejected.withColumn("number", F.lit(1))
        # Spark reads the lines of one block of a file in sequence, so the distance from the block's first row is the
        # position in it. Files with rejected lines are read once more for this.
        first = self._lines.groupBy("file", "block").agg(F.min("row").alias("first"))
        return rejected.join(first, ["file", "block"]).withColumn("number", F.col("row") - F.col("first") + 1)


def _cut(line: Column) -> Column:
    """Return the line's bytes; of a line that is too long only the ends, so that a batch cannot fill the memory."""
    raw = line.cast("binary")
    ends = F.concat(F.substring(raw, 1, HALF), F.substring(raw, -HALF, HALF))
    return F.when(F.octet_length(raw) > LONGEST, ends).otherwise(raw)


def _as_arrow(readings: Sequence[LineReading], instance: str) -> pa.Array:
    columns = event_columns(instance, [event for reading in readings for event in reading.events])
    arrays = [pa.array(columns[field.name], field.type) for field in NEW_EVENTS]
    ends = accumulate((len(reading.events) for reading in readings), initial=0)
    events = pa.StructArray.from_arrays(arrays, fields=list(NEW_EVENTS))
    found = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), events)
    texts = [pa.array([getattr(reading, name) for reading in readings], pa.string()) for name in ("rejected", "shown")]
    return pa.StructArray.from_arrays([*texts, found], names=_READ.names)
