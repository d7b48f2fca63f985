"""Line readers in Spark: each line is read once, in Arrow batches, by the same pure function as without Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from ranger_cdap.config import SourceSettings
from ranger_cdap.ranger_model.strict_json import HALF, LONGEST
from spark_sync.ledger.event import EntityEvent
from spark_sync.sources.line_reader import LineReader, LineReading, sure_reading
from spark_sync.sources.source import FOUND, Parse

_READ: Final = StructType(
    [
        StructField("shown", StringType()),
        StructField("rejected", StringType()),
        StructField("found", ArrayType(FOUND)),
    ]
)
CHECKED: Final = "__checked_by_sure_reading"
"""Column of a frame whose events have all passed `sure_reading`, so that Spark need not check them.

No source of a plugin has a column of that name by chance.
"""

_ARROW: Final = {"string": pa.string(), "bigint": pa.int64(), "array<string>": pa.list_(pa.string())}
_OF_ENTITY: Final = {"type": "entity.type", "parts": "entity.parts"}
_COLUMNS: Final[Sequence[tuple[str, Callable[[EntityEvent], Any], pa.DataType]]] = [
    (field.name, attrgetter(_OF_ENTITY.get(field.name, field.name)), _ARROW[field.dataType.simpleString()])
    for field in FOUND
]


def parsed_by(reader: LineReader) -> Parse:
    """Return `EventSource.parse` for a function that reads one line; Spark's executors must be able to import it."""

    def parse(lines: DataFrame, settings: SourceSettings, instance: str, now: int) -> DataFrame:
        def read_batch(raw: pa.Array) -> pa.Array:
            texts = [(line or b"").decode("utf-8", "surrogateescape") for line in raw.to_pylist()]
            readings = (reader(text, settings, instance, now) for text in texts)
            return _as_arrow([sure_reading(reading, text, now) for text, reading in zip(texts, readings, strict=True)])

        # A deterministic function would be run again for each column and condition that uses its result. (The stub of
        # `arrow_udf` lacks the form that takes the kind of function from its type hints, which PySpark recommends.)
        read = arrow_udf(read_batch, _READ).asNondeterministic()  # type: ignore[call-overload]
        others = [name for name in lines.columns if name != "line"]
        return lines.withColumn("read", read(_cut(F.col("line")))).select(
            F.coalesce("read.shown", "line").alias("line"),
            *others,
            F.col("read.rejected"),
            F.col("read.found"),
            F.lit(True).alias(CHECKED),
        )

    return parse


def _cut(line: Column) -> Column:
    """Return the line's bytes; of a line that is too long only the ends, so that a batch cannot fill the memory."""
    raw = line.cast("binary")
    ends = F.concat(F.substring(raw, 1, HALF), F.substring(raw, -HALF, HALF))
    return F.when(F.octet_length(raw) > LONGEST, ends).otherwise(raw)


def _as_arrow(readings: Sequence[LineReading]) -> pa.Array:
    events = [event for reading in readings for event in reading.events]
    columns = [pa.array(map(get, events), kind) for _, get, kind in _COLUMNS]
    fields = [pa.field(name, kind) for name, _, kind in _COLUMNS]
    ends = accumulate((len(reading.events) for reading in readings), initial=0)
    found = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.StructArray.from_arrays(columns, fields=fields))
    texts = [pa.array([getattr(reading, name) for reading in readings], pa.string()) for name in ("shown", "rejected")]
    return pa.StructArray.from_arrays([*texts, found], names=_READ.names)
