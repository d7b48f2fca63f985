"""Rows of the ledger's tables in Spark, transferred to and from Python as one JSON text per row.

Spark writes and reads JSON faster than it transfers rows of many columns, and msgspec checks every type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from spark_sync.ledger.ledger import History, LedgerChange
from spark_sync.ledger.ledger_rows import EVENT_FIELDS, LIFE_FIELDS, change_rows

_history = msgspec.json.Decoder(History)
_encode = msgspec.json.Encoder().encode

JsonRow = tuple[str]
"""A row of one column, JSON."""


def struct_of(schema: pa.Schema) -> StructType:
    """Return the schema as Spark's type."""
    return from_arrow_schema(schema)


def life_column() -> Column:
    """Return a row of `LIVES` in the shape of `Life`, as `ledger_rows.life_of` reads it."""
    begun = _position(F.col("begun"), F.lit(False), F.col("begun_source"), F.col("begun_id"))
    ended = _position(F.col("ended"), F.lit(True), F.col("ended_source"), F.col("ended_id"))
    return F.struct(
        F.struct(F.col("type").alias("type"), F.col("parts").alias("parts")).alias("entity"),
        begun.alias("begun"),
        F.when(F.col("ended").isNotNull(), ended).alias("ended"),
        *(F.col(name).alias(name) for name in LIFE_FIELDS),
    )


def event_column(event: Column) -> Column:
    """Return a struct of columns of `EVENTS` in the shape of `EntityEvent`, as `ledger_rows.event_of` reads it."""
    return F.struct(
        F.struct(event["type"].alias("type"), event["parts"].alias("parts")).alias("entity"),
        *(event[name].alias(name) for name in EVENT_FIELDS),
    )


def to_json(column: Column) -> Column:
    """Return the column as text, with explicit nulls, so that a missing value is not taken for a default."""
    return F.to_json(column, {"ignoreNullFields": "false"})


def folded(
    decide: Callable[[History], LedgerChange | None], instance: str, rows: Iterable[JsonRow]
) -> Iterator[JsonRow]:
    """Turn histories into rows of `CHANGES`; runs on Spark's executors."""
    for row in rows:
        change = decide(_history.decode(row[0]))
        if change:
            for changed in change_rows(instance, change):
                yield (_encode(changed).decode(),)


def _position(time: Column, after_creations: Column, source: Column, id_: Column) -> Column:
    return F.struct(
        time.alias("time"), after_creations.alias("after_creations"), source.alias("source"), id_.alias("id")
    )
