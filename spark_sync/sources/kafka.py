"""CDAP's audit messages from Kafka: topic `audit` of CDAP 3.4 to 4.0, or wherever they are forwarded to."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import ConfigError
from spark_sync.sources import audit
from spark_sync.sources.line_batches import parsed_by
from spark_sync.sources.source import EventSource

PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1"

# What decides which messages are read is the job's business: another start or group would lose events silently.
_OURS = ("subscribe", "subscribepattern", "assign", "startingoffsets", "failondataloss", "kafka.bootstrap.servers")


def check(settings: SourceSettings) -> None:
    """The settings of a source that reads Kafka.

    Raises:
        ConfigError: the broker or topic is missing, or an option is one that the job sets itself or cannot be read.
    """
    if not settings.bootstrap or not settings.topic:
        raise ConfigError(f"source `{settings.name}` needs `bootstrap`, like `kafka.example:9092`, and `topic`")
    for option, secret in settings.options.items():
        if option.lower() in _OURS or not option.lower().startswith("kafka."):
            raise ConfigError(
                f"source `{settings.name}`: `{option}` is not an option that can be set; those that begin with "
                "`kafka.` go to Kafka's client, but the brokers are `bootstrap`"
            )
        secret.reveal()  # one that cannot be read ends the run before Spark is started


def options(settings: SourceSettings) -> dict[str, str]:
    """What Spark's Kafka source is told: everything from the first message on, and an error where messages are gone."""
    return {
        **{name: secret.reveal() for name, secret in settings.options.items()},
        "kafka.bootstrap.servers": settings.bootstrap,
        "subscribe": settings.topic,
        "startingOffsets": "earliest",
        "failOnDataLoss": "true",
    }


def read(spark: SparkSession, settings: SourceSettings) -> DataFrame:
    """The messages as lines; a message's place is its topic and partition, and its offset as `block`."""
    return lines_of(spark.readStream.format("kafka").options(**options(settings)).load())


def lines_of(messages: DataFrame) -> DataFrame:
    """Kafka's columns as those of `LINES`; a message without a value is an empty line."""
    return messages.select(
        F.coalesce(F.try_validate_utf8(F.col("value").cast("string")), F.lit("")).alias("line"),
        F.concat(F.lit("kafka:"), F.col("topic"), F.lit("/"), F.col("partition").cast("string")).alias("file"),
        F.col("offset").alias("block"),
    )


AUDIT_KAFKA = EventSource(
    read=read, parse=parsed_by(audit.read), check=check, rank=10, line_is_block=True, packages=(PACKAGE,)
)
