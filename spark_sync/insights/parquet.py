"""Tables of insights as Parquet, one directory each."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import SparkSession

from ranger_cdap.errors import InvalidInput
from spark_sync.insights.report import InsightReport
from spark_sync.insights.table import ColumnKind, InsightTable, moment
from spark_sync.insights.tally import Use
from spark_sync.spark.spark_errors import spark_errors

_PATTERN_CHARACTERS: Final = frozenset("*?[]{}\\")
_USES: Final = (
    *((name, ColumnKind.TEXT) for name in ("user", "access", "type", "resource")),
    ("allowed", ColumnKind.FLAG),
    ("recorded_policy", ColumnKind.ID),
    ("now_allowed", ColumnKind.FLAG),
    ("now_policy", ColumnKind.ID),
    ("not_replayed", ColumnKind.TEXT),
    ("count", ColumnKind.NUMBER),
    ("first", ColumnKind.TIME),
    ("last", ColumnKind.TIME),
)


def write_tables(spark: SparkSession, report: InsightReport, out: str) -> None:
    """Write every table of the report to `out`, a directory each, and all uses to `uses`, which comes last.

    Raises:
        InvalidInput: `out` already exists, or Spark would read it as a pattern.
        SyncError: Spark failed; `out` has no `uses` then.
    """
    with spark_errors():
        refuse_existing(spark, out)
        for table in (*report.tables, _uses(report.facts.uses)):
            schema = ", ".join(f"`{name}` {kind.value}" for name, kind in table.columns)
            rows = [tuple(map(_value, table.columns, row)) for row in table.rows]
            frame = spark.createDataFrame(rows, schema)
            frame.coalesce(1).write.mode("error").parquet(f"{out.rstrip('/')}/{table.name}")


def refuse_existing(spark: SparkSession, out: str) -> None:
    """Require that `out` is a new directory, written as Spark reads it.

    Raises:
        InvalidInput: it is not.
    """
    if not out or _PATTERN_CHARACTERS & frozenset(out):
        raise InvalidInput(f"`{out}` cannot be the output directory: Spark would read it as a pattern")
    jvm = spark.sparkContext._jvm
    assert jvm is not None  # there is a session
    path = jvm.org.apache.hadoop.fs.Path(out)
    if path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).exists(path):
        raise InvalidInput(f"`{out}` already exists; insights are written into a new directory")


def _uses(uses: tuple[Use, ...]) -> InsightTable:
    return InsightTable("uses", "Uses", "Equal accesses together.", _USES, uses)


def _value(column: tuple[str, ColumnKind], value: Any) -> Any:
    _, kind = column
    if value is None:
        return None
    if kind is ColumnKind.TIME:
        return moment(value)
    return list(value) if kind is ColumnKind.TEXTS else value
