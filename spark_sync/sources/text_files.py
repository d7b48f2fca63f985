"""Sources that read text files of a directory (or files that match a pattern), as a stream that reads each once."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import ConfigError
from spark_sync.sources import audit, data_plane, http_access
from spark_sync.sources.line_batches import parsed_by
from spark_sync.sources.regular_files import check_path, check_stored_events, fixed_part, is_pattern
from spark_sync.sources.source import EventSource


def read_text_files(spark: SparkSession, settings: SourceSettings) -> DataFrame:
    """Return the lines of all files of `settings.path`; a file must be complete when it appears there (move it in).

    Guaranteed: no link that exists when a run begins is followed (see `check_path` for the limits), and no file is read
    whose name, or that of a directory below `path`, begins with a dot or an underscore.

    Raises:
        ConfigError: a file is not regular.
    """
    check_path(settings)
    if settings.path is None:
        raise ConfigError(f"source `{settings.name}` has no `path`")
    file = F.col("_metadata.file_path")
    lines = spark.readStream.format("text").load(str(settings.path))
    if is_pattern(settings.path):  # Spark reads hidden directories that match a pattern
        lines = lines.where(~_is_hidden(file, below=len(fixed_part(settings.path).parts)))
    return lines.select(
        F.col("value").alias("line"), file.alias("file"), F.col("_metadata.file_block_start").alias("block")
    )


def _is_hidden(file: Column, *, below: int) -> Column:
    """Return whether a name in the path of a file, after its first `below` names, is hidden."""
    names = F.split(F.regexp_replace(file, "^file:/+", "/"), "/")
    return F.exists(F.slice(names, below + 1, F.size(names)), lambda name: name.rlike("^[._]"))


AUDIT = EventSource(read=read_text_files, parse=parsed_by(audit.read), rank=10)
DATA_PLANE = EventSource(read=read_text_files, parse=parsed_by(data_plane.read), check=check_stored_events, rank=20)
HTTP_ACCESS = EventSource(read=read_text_files, parse=parsed_by(http_access.read), check=http_access.check, rank=30)
