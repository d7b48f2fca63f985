"""The event sources of the sync job itself, by kind. PySpark is imported when Spark is to read one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ranger_cdap.config import NetworkSettings, SourceSettings
from spark_sync.sources import audit, data_plane, http_access, kafka
from spark_sync.sources.regular_files import check_stored_events
from spark_sync.sources.source import EventSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KAFKA_PACKAGE: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}"


def built_in_sources() -> dict[str, EventSource]:
    """Return the sources of audit messages (files, Kafka, messaging service), data-plane records, and access logs."""
    return {
        "audit": EventSource(audit.read, 10),
        "audit-kafka": EventSource(audit.read, 10, kafka.read, kafka.check, packages=(KAFKA_PACKAGE,)),
        "audit-messaging": EventSource(audit.read, 10, _read_messaging, _check_messaging),
        "data-plane": EventSource(data_plane.read, 20, check=check_stored_events),
        "http-access": EventSource(http_access.read, 30, check=http_access.check),
    }


def _read_messaging(spark: SparkSession, settings: SourceSettings, network: NetworkSettings) -> DataFrame:
    from spark_sync.sources import messaging

    return messaging.read(spark, settings, network)


def _check_messaging(settings: SourceSettings) -> None:
    from spark_sync.sources import messaging

    messaging.check(settings)
