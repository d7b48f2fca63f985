"""CDAP's audit messages from Kafka: topic `audit` of CDAP 3.4 to 4.0, or one to which they are forwarded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranger_cdap.config import NetworkSettings, SourceSettings
from ranger_cdap.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The job itself decides which messages are read: another start or group would silently lose events.
_OURS = ("subscribe", "subscribepattern", "assign", "startingoffsets", "failondataloss", "kafka.bootstrap.servers")


def check(settings: SourceSettings) -> None:
    """Check the settings of a source that reads Kafka.

    Raises:
        ConfigError: the broker or topic is missing, or an option is one that the job sets itself or cannot be read.
    """
    if not settings.bootstrap or not settings.topic:
        raise ConfigError(f"source `{settings.name}` needs `bootstrap`, like `kafka.example:9092`, and `topic`")
    for option, secret in settings.options.items():
        if option.lower() in _OURS or not option.lower().startswith("kafka."):
            raise ConfigError(
                f"source `{settings.name}`: option `{option}` cannot be set; options that begin with `kafka.` can, "
                "except the brokers, which are `bootstrap`"
            )
        secret.reveal()  # one that cannot be read ends the run before Spark is started


def options(settings: SourceSettings) -> dict[str, str]:
    """Return the options of Spark's Kafka source: start at the first message, and fail if messages are lost."""
    return {
        **{name: secret.reveal() for name, secret in settings.options.items()},
        "kafka.bootstrap.servers": settings.bootstrap,
        "subscribe": settings.topic,
        "startingOffsets": "earliest",
        "failOnDataLoss": "true",
    }


def read(spark: SparkSession, settings: SourceSettings, _: NetworkSettings) -> DataFrame:
    """Return the messages as lines; their position is topic and partition, with the offset as `block`."""
    return lines_of(spark.readStream.format("kafka").options(**options(settings)).load())


def lines_of(messages: DataFrame) -> DataFrame:
    """Return Kafka's columns as those of `LINES`; a message without a value is an empty line."""
    from pyspark.sql import functions as F  # noqa: N812

    return messages.select(
        F.coalesce(F.try_validate_utf8(F.col("value").cast("string")), F.lit("")).alias("line"),
        F.concat(F.lit("kafka:"), F.col("topic"), F.lit("/"), F.col("partition").cast("string")).alias("file"),
        F.col("offset").alias("block"),
    )
