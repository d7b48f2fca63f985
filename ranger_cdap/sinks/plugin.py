"""The audit sinks `hdfs` and `kafka` as a plugin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ranger_cdap.errors import ConfigError
from ranger_cdap.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from ranger_cdap.audit import AuditSink, SinkFactory
    from ranger_cdap.config import Settings


@hookimpl
def ranger_cdap_audit_sinks() -> Mapping[str, SinkFactory]:
    """Return both sinks."""
    return {"hdfs": _hdfs_sink, "kafka": _kafka_sink}


def _hdfs_sink(settings: Settings) -> AuditSink:
    audit = settings.audit
    if not audit.hdfs_dir:
        raise ConfigError("the audit sink `hdfs` needs the setting `audit.hdfs_dir`, the directory of the files")
    from ranger_cdap.audit.record import host_name
    from ranger_cdap.sinks.file_systems import published_directory
    from ranger_cdap.sinks.hdfs import HdfsSink
    from ranger_cdap.sinks.staged_files import StagedFiles

    return HdfsSink(
        published_directory(audit.hdfs_dir), StagedFiles(audit.spool_dir, host_name(), max_bytes=audit.spool_max_bytes)
    )


def _kafka_sink(settings: Settings) -> AuditSink:
    if not settings.audit.kafka_bootstrap:
        raise ConfigError("the audit sink `kafka` needs the setting `audit.kafka_bootstrap`, the servers of Kafka")
    from ranger_cdap.sinks.kafka import KafkaSink

    return KafkaSink(settings)
