"""CDAP's audit messages, versions 1 (until CDAP 5) and 2 (CDAP 6), as JSON lines: what proves a creation.

`{"version":1,"time":1000,"entityId":{"namespace":"ns1","dataset":"kv","entity":"DATASET"},"user":"alice",
"type":"CREATE","payload":{}}`, where some releases write `entityType` for `entity`;
`{"version":2,"time":1795233666254,"metadataEntity":{"details":{"namespace":"ns1","dataset":"kv"},"type":"dataset"},
"user":"alice","type":"CREATE","payload":{}}` (reference: CDAP facts, section 4.1).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.cdap.creations import AuditRow, load_creations
from ranger_cdap.config import SourceSettings
from spark_sync.sources.json_lines import misfit, missing, not_one_object, parsed, quoted, the_object
from spark_sync.sources.source import FOUND, EventSource
from spark_sync.sources.text_files import read_text_files

SCHEMA = (
    "version int, time bigint, entityId map<string,string>, metadataEntity struct<details:map<string,string>,"
    "type:string>, user string, type string"
)
VERSIONS = (1, 2)


def parse(lines: DataFrame, settings: SourceSettings, instance: str) -> DataFrame:
    """As `EventSource.parse`; the messages name no instance, so all belong to the one the source is configured for."""
    json = F.col("json")
    m = lines.withColumn("json", parsed(F.col("line"), SCHEMA)).withColumn("m", the_object(json))
    version, of_1 = F.col("m.version"), F.col("m.version") == 1
    rejected = F.coalesce(
        not_one_object(json),
        missing(version=version),
        F.when(~version.isin(*VERSIONS), F.concat(F.lit("unknown version "), quoted(version))),
        missing(time=F.when(F.col("m.time") > 0, F.col("m.time"))),
        F.when(of_1, missing(entityId=F.col("m.entityId"), entity=_type())).otherwise(
            missing(metadataEntity=F.col("m.metadataEntity.type"), details=F.col("m.metadataEntity.details"))
        ),
        missing(user=F.col("m.user"), type=F.col("m.type")),
        misfit(json, "audit messages"),
    )
    rows = load_creations().audit
    events = F.filter(F.array(*map(_event, rows)), lambda event: event.isNotNull())
    none = F.array().cast(f"array<{FOUND.simpleString()}>")
    return m.select(
        *lines.columns,
        rejected.alias("rejected"),
        F.when(F.col("m.type").isin(*{row.message for row in rows}), events).otherwise(none).alias("found"),
    )


def _type() -> Column:
    """CDAP's name of the entity's type."""
    of_1 = F.coalesce(F.col("m.entityId")["entity"], F.col("m.entityId")["entityType"])
    return F.upper(F.when(F.col("m.version") == 1, of_1).otherwise(F.col("m.metadataEntity.type")))


def _event(row: AuditRow) -> Column:
    details = F.when(F.col("m.version") == 1, F.col("m.entityId")).otherwise(F.col("m.metadataEntity.details"))
    holds = (
        F.col("m.version").isin(*row.versions) & _type().isin(*row.entity.cdap_names) & (F.col("m.type") == row.message)
    )
    # Messages have no id; what we read of one stands for it, so that a repeated message is the same event.
    read = ("m.version", "m.time", "m.entityId", "m.metadataEntity", "m.user", "m.type")
    return F.when(
        holds,
        F.struct(
            F.sha2(F.to_json(F.struct(*read)), 256).alias("id"),
            F.lit(row.entity.name).alias("type"),
            F.array(*(details[level] for level in row.entity.path[1:])).alias("parts"),
            F.lit(row.kind.value).alias("kind"),
            F.lit(row.strength.value).alias("strength"),
            F.col("m.user").alias("user"),
            F.col("m.time").alias("time"),
            F.lit(None).cast("string").alias("requester"),
        ).cast(FOUND),
    )


AUDIT = EventSource(read=read_text_files, parse=parse, rank=10)
