"""Lines of text files in a directory (or of files that match a pattern), as a stream that takes each file once."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import ConfigError
from spark_sync.sources.regular_files import check_path, fixed_part, is_pattern


def read_text_files(spark: SparkSession, settings: SourceSettings) -> DataFrame:
    """The lines of all files of `settings.path`; a file must be complete when it appears there (move it in).

    Guaranteed: no link that is there when a run begins is followed (`check_path` says what is not), and no line of a
    file is taken whose name, or a directory of which below `path`, begins with a dot or an underscore.

    Raises:
        ConfigError: a file is not a regular one.
    """
    check_path(settings)
    if settings.path is None:
        raise ConfigError(f"source `{settings.name}` has no `path`")
    file = F.col("_metadata.file_path")
    lines = spark.readStream.format("text").load(str(settings.path))
    if is_pattern(settings.path):  # Spark looks into hidden directories that a pattern takes in
        lines = lines.where(~_is_hidden(file, below=len(fixed_part(settings.path).parts)))
    return lines.select(
        F.col("value").alias("line"), file.alias("file"), F.col("_metadata.file_block_start").alias("block")
    )


def _is_hidden(file: Column, *, below: int) -> Column:
    """Whether a name in the path of a file is hidden, after its first so many names."""
    names = F.split(F.regexp_replace(file, "^file:/+", "/"), "/")
    return F.exists(F.slice(names, below + 1, F.size(names)), lambda name: name.rlike("^[._]"))
