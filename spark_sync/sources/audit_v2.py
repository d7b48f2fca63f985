"""CDAP's audit messages, version 2 (CDAP 6), as JSON lines: the only source that proves a creation.

`{"version":2,"time":1795233666254,"metadataEntity":{"details":{"namespace":"ns1","dataset":"kv"},"type":"dataset"},
"user":"alice","type":"CREATE","payload":{}}` (reference: CDAP facts, section 4.1).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.config import SourceSettings
from spark_sync.creations import AuditRow, load_creations
from spark_sync.sources.json_lines import missing, not_one_object, parsed, quoted
from spark_sync.sources.source import FOUND, EventSource
from spark_sync.sources.text_files import read_text_files

SCHEMA = (
    "version int, time bigint, metadataEntity struct<details:map<string,string>,type:string>, user string, type string"
)


def parse(lines: DataFrame, settings: SourceSettings, instance: str) -> DataFrame:
    """As `EventSource.parse`; the messages name no instance, so all belong to the one the source is configured for."""
    m = lines.withColumn("m", parsed(F.col("line"), SCHEMA))
    rejected = F.coalesce(
        not_one_object(F.col("line")),
        F.when(F.col("m.version") != 2, F.concat(F.lit("unknown version "), quoted(F.col("m.version")))),
        missing(
            version=F.col("m.version"),
            time=F.when(F.col("m.time") > 0, F.col("m.time")),
            metadataEntity=F.col("m.metadataEntity.type"),
            details=F.col("m.metadataEntity.details"),
            user=F.col("m.user"),
            type=F.col("m.type"),
        ),
        F.when(F.col("m._corrupt").isNotNull(), F.lit("does not fit the format of audit messages")),
    )
    events = F.array(*(_event(row) for row in load_creations().audit_v2))
    return m.select(
        *lines.columns,
        rejected.alias("rejected"),
        F.filter(events, lambda event: event.isNotNull()).alias("found"),
    )


def _event(row: AuditRow) -> Column:
    details = F.col("m.metadataEntity.details")
    holds = F.upper(F.col("m.metadataEntity.type")).isin(*row.entity.cdap_names) & (F.col("m.type") == row.message)
    # Messages have no id; what we read of one stands for it, so that a repeated message is the same event.
    identity = F.sha2(F.to_json(F.struct("m.version", "m.time", "m.metadataEntity", "m.user", "m.type")), 256)
    return F.when(
        holds,
        F.struct(
            identity.alias("id"),
            F.lit(row.entity.name).alias("type"),
            F.array(*(details[level] for level in row.entity.path[1:])).alias("parts"),
            F.lit(row.kind.value).alias("kind"),
            F.lit(row.strength.value).alias("strength"),
            F.col("m.user").alias("user"),
            F.col("m.time").alias("time"),
        ).cast(FOUND),
    )


AUDIT_V2 = EventSource(read=read_text_files, parse=parse)
