"""Text files in Spark: the lines of listed files, and a stream of a directory's files that reads each once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import ConfigError
from spark_sync.sources.regular_files import check_path, fixed_part, is_pattern
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
        return _as_lines(spark.read.options(**_OPTIONS).text([f"file://{_literally(path)}" for path in remaining]))
    except AnalysisException as e:
        if e.getCondition() == "PATH_NOT_FOUND" and not all(Path(path).exists() for path in remaining):
            return read_files(spark, remaining)
        raise


def read_text_files(spark: SparkSession, settings: SourceSettings) -> DataFrame:
    """Return the lines of all files of `settings.path`; a file must be complete when it appears there (move it in).

    A stream, for `EventSource.read` of a kind without a `reader`. Guaranteed: no link that exists when a run begins is
    followed (see `check_path` for the limits), and no file is read whose name, or that of a directory below `path`,
    begins with a dot or an underscore.

    Raises:
        ConfigError: a file is not regular.
    """
    check_path(settings)
    if settings.path is None:
        raise ConfigError(f"source `{settings.name}` has no `path`")
    lines = spark.readStream.format("text").load(str(settings.path))
    if is_pattern(settings.path):  # Spark reads hidden directories that match a pattern
        lines = lines.where(~_is_hidden(F.col("_metadata.file_path"), below=len(fixed_part(settings.path).parts)))
    return _as_lines(lines)


def _as_lines(frame: DataFrame) -> DataFrame:
    return frame.select(
        F.col("value").alias("line"),
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.file_block_start").alias("block"),
    )


def _literally(path: str) -> str:
    """Return the pattern that only this path matches."""
    return _WILDCARD.sub(r"\\\g<0>", path)


def _is_hidden(file: Column, *, below: int) -> Column:
    """Return whether a name in the path of a file, after its first `below` names, is hidden."""
    names = F.split(F.regexp_replace(file, "^file:/+", "/"), "/")
    return F.exists(F.slice(names, below + 1, F.size(names)), lambda name: name.rlike("^[._]"))
