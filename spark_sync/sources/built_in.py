"""The event sources of the sync job itself, by kind. PySpark is imported when Spark is to read one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ranger_cdap.config import SourceSettings
from spark_sync.sources import audit, data_plane, http_access
from spark_sync.sources.line_reader import LineReader
from spark_sync.sources.regular_files import check_stored_events
from spark_sync.sources.source import EventSource, Parse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KAFKA_PACKAGE: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}"


def built_in_sources() -> dict[str, EventSource]:
    """Return the sources of audit messages (files, Kafka, messaging service), data-plane records, and access logs."""
    return {
        "audit": EventSource(_read_files, _parsed_by(audit.read), rank=10, reader=audit.read),
        "audit-kafka": EventSource(
            _read_kafka,
            _parsed_by(audit.read),
            _check_kafka,
            rank=10,
            line_is_block=True,
            packages=(KAFKA_PACKAGE,),
        ),
        "audit-messaging": EventSource(
            _read_messaging, _parsed_by(audit.read), _check_messaging, rank=10, line_is_block=True
        ),
        "data-plane": EventSource(
            _read_files, _parsed_by(data_plane.read), check_stored_events, rank=20, reader=data_plane.read
        ),
        "http-access": EventSource(
            _read_files, _parsed_by(http_access.read), http_access.check, rank=30, reader=http_access.read
        ),
    }


def _parsed_by(reader: LineReader) -> Parse:
    def parse(lines: DataFrame, settings: SourceSettings, instance: str, now: int) -> DataFrame:
        from spark_sync.sources.line_batches import parsed_by

        return parsed_by(reader)(lines, settings, instance, now)

    return parse


def _read_files(spark: SparkSession, settings: SourceSettings) -> DataFrame:
    from spark_sync.sources.text_files import read_text_files

    return read_text_files(spark, settings)


def _read_kafka(spark: SparkSession, settings: SourceSettings) -> DataFrame:
    from spark_sync.sources import kafka

    return kafka.read(spark, settings)


def _check_kafka(settings: SourceSettings) -> None:
    from spark_sync.sources import kafka

    kafka.check(settings)


def _read_messaging(spark: SparkSession, settings: SourceSettings) -> DataFrame:
    from spark_sync.sources import messaging

    return messaging.read(spark, settings)


def _check_messaging(settings: SourceSettings) -> None:
    from spark_sync.sources import messaging

    messaging.check(settings)
