"""Lines of text files in a directory (or of files that match a pattern), as a stream that takes each file once."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from ranger_cdap.config import SourceSettings


def read_text_files(spark: SparkSession, settings: SourceSettings) -> DataFrame:
    """The lines of all files of `settings.path`; a file must be complete when it appears there (move it in)."""
    return (
        spark.readStream.format("text")
        .load(str(settings.path))
        .select(
            F.col("value").alias("line"),
            F.col("_metadata.file_path").alias("file"),
            F.col("_metadata.file_block_start").alias("block"),
        )
    )
