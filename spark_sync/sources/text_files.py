"""Text files in Spark: the lines of listed files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from spark_sync.sources.source import LINES

_OPTIONS: Final = {
    # For a file that is deleted while it is read.
    "ignoreMissingFiles": "true",
    # Hadoop's default reads no name with a colon, and believes a checksum file that lies beside a file.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
_WILDCARD: Final = re.compile(r"[*?\[\]{}\\]")


def read_files(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Return the lines of files that `list_files` has found, with the columns of `LINES`; deleted ones are skipped."""
    remaining = [path for path in paths if Path(path).exists()]
    if not remaining:
        return spark.createDataFrame([], LINES)
    try:
        frame = spark.read.options(**_OPTIONS).text([f"file://{_literally(path)}" for path in remaining])
    except AnalysisException as e:
        if e.getCondition() == "PATH_NOT_FOUND" and not all(Path(path).exists() for path in remaining):
            return read_files(spark, remaining)
        raise
    return frame.select(
        F.col("value").alias("line"),
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.file_block_start").alias("block"),
    )


def _literally(path: str) -> str:
    """Return the pattern that only this path matches."""
    return _WILDCARD.sub(r"\\\g<0>", path)
