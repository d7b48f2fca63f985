"""The audit on Spark: every line is read and decided in executors, and only sums come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.ranger_model.strict_json import LONGEST
from spark_sync.insights.audit_files import AuditFile
from spark_sync.insights.facts import AuditFacts, gather, key_of, merged
from spark_sync.insights.replay import ReplayBasis, replayer
from spark_sync.insights.tally import Fact, LineSource, Period, tally
from spark_sync.spark.spark_errors import spark_errors

_OPTIONS: Final = {
    # Hadoop's default reads no name with a colon, and believes a checksum file that lies beside a file.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
    # A name is no pattern; escaping its wildcards would do, but for names that also have a colon.
    "__globPaths__": "false",
}
_PLACE: Final = ("_metadata.file_path", "_metadata.file_block_start")


def read_audit(spark: SparkSession, files: Sequence[AuditFile], period: Period, basis: ReplayBasis) -> AuditFacts:
    """Return the facts of the files; `basis` has the policies that decide again.

    Raises:
        SyncError: Spark failed.
    """
    sent = spark.sparkContext.broadcast(basis)

    def read(rows: Iterable[Row]) -> Iterator[Fact]:
        lines = (LineSource(file, block, bytes(content)) for file, block, content in rows)
        return tally(lines, period, replayer(sent.value).decide)

    with spark_errors(), ctrl_c():
        facts = _lines(spark, files).rdd.mapPartitions(read)
        # Equal uses of different parts are summed in the cluster: only distinct ones come to the driver.
        found = facts.keyBy(key_of).reduceByKey(merged, spark.sparkContext.defaultParallelism).values().collect()
    return gather(found, {file.uri: file.name for file in files})


@contextmanager
def ctrl_c() -> Iterator[None]:
    """Raise Ctrl-C as what it is: PySpark cleans up after it over a lost connection, whose error takes its place."""
    try:
        yield
    except Py4JError as e:
        before = e.__context__
        while before is not None and not isinstance(before, KeyboardInterrupt):
            before = before.__context__
        if before is not None:
            raise KeyboardInterrupt from e
        raise


def _lines(spark: SparkSession, files: Sequence[AuditFile]) -> DataFrame:
    content = F.col("value").cast("binary")
    # Of a line that is too long only enough to reject it.
    shown = F.when(F.octet_length(content) > LONGEST, F.substring(content, 1, LONGEST + 1)).otherwise(content)
    return spark.read.options(**_OPTIONS).text([file.path for file in files]).select(*_PLACE, shown)
