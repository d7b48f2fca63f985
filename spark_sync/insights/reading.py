"""The audit on Spark: every line is read and decided in executors, and only sums come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger_model.audit_event import NAMES
from ranger_cdap.ranger_model.strict_json import LONGEST
from spark_sync.insights.audit_files import AuditFile, FileForm
from spark_sync.insights.facts import AuditFacts, gather, key_of, merged
from spark_sync.insights.replay import ReplayBasis, replayer
from spark_sync.insights.tally import Fact, LineSource, Period, tally, undecided
from spark_sync.spark.spark_errors import spark_errors

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast

_OPTIONS: Final = {
    # Hadoop's default reads no name with a colon, and believes a checksum file that lies beside a file.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
    # A name is no pattern; escaping its wildcards would do, but for names that also have a colon.
    "__globPaths__": "false",
}
_PLACE: Final = ("_metadata.file_path", "_metadata.file_block_start")


def read_audit(
    spark: SparkSession, files: Sequence[AuditFile], period: Period, basis: ReplayBasis | None
) -> AuditFacts:
    """Return the facts of the files; `basis` has the policies that decide again, if any.

    Raises:
        InvalidInput: a file is not Parquet, or two Parquet files have columns of the same name but another type.
        SyncError: Spark failed.
    """
    sent = spark.sparkContext.broadcast(basis)
    frames = [(frame, form is FileForm.DOCUMENT) for form in FileForm for frame in _frames(spark, files, form)]
    with spark_errors(), ctrl_c():
        facts = spark.sparkContext.union([_tallied(frame, is_whole, period, sent) for frame, is_whole in frames])
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


def _tallied(frame: DataFrame, is_whole: bool, period: Period, sent: Broadcast[ReplayBasis | None]) -> RDD[Fact]:
    def read(rows: Iterable[Row]) -> Iterator[Fact]:
        basis = sent.value
        decide = undecided if basis is None else replayer(basis).decide
        lines = (LineSource(file, block, bytes(content), is_whole) for file, block, content in rows)
        return tally(lines, period, decide)

    return frame.rdd.mapPartitions(read)


def _frames(spark: SparkSession, files: Sequence[AuditFile], form: FileForm) -> Iterator[DataFrame]:
    paths = [file.path for file in files if file.form is form]
    if not paths:
        return
    reader = spark.read.options(**_OPTIONS)
    if form is FileForm.PARQUET:
        for same_columns in _by_columns(spark, [file for file in files if file.form is form]):
            frame = spark.read.options(**_OPTIONS).parquet(*same_columns)
            columns = [name for name in frame.columns if name in NAMES]
            content = F.to_json(F.struct(*(F.col(f"`{name}`") for name in columns))) if columns else F.lit("{}")
            yield frame.select(*_PLACE, content.cast("binary"))
        return
    lines = reader.text(paths, wholetext=form is FileForm.DOCUMENT)
    content = F.col("value").cast("binary")
    if form is FileForm.LINES:  # of a line that is too long only enough to reject it
        content = F.when(F.octet_length(content) > LONGEST, F.substring(content, 1, LONGEST + 1)).otherwise(content)
    yield lines.select(*_PLACE, content)


def _by_columns(spark: SparkSession, files: Iterable[AuditFile]) -> Iterable[list[str]]:
    """Return the paths of Parquet files, those with the same columns together."""
    found: dict[str, list[str]] = {}
    for file in files:
        path = file.path
        try:
            schema = spark.read.options(**_OPTIONS).parquet(path).schema
        except (PySparkException, Py4JJavaError):
            raise InvalidInput(f"`{file.name}` cannot be read as Parquet") from None
        found.setdefault(schema.json(), []).append(path)
    return found.values()
