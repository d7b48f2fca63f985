"""The event source `csv`: lines `milliseconds,user,kind,type,part,part…` that an inventory system writes.

`1795233666254,alice,CREATE,dataset,ns1,purchases`. Rows are read by Spark alone; no Python runs for a row.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.config import SourceSettings
from spark_sync.ledger.event import ChangeKind, Outcome, Stage
from spark_sync.sources.source import FOUND, EventSource
from spark_sync.sources.text_files import read_text_files

TYPES = {"namespace": 1, "application": 2, "dataset": 2}
"""The entity types that are believed, and how many parts each has."""
LEAST = 5


def parse(lines: DataFrame, settings: SourceSettings, instance: str, now: int) -> DataFrame:
    """Parse lines, as `EventSource.parse`; a malformed line is rejected with the reason."""
    fields = F.split("line", ",", -1)
    time = F.expr("try_cast(fields[0] AS bigint)")
    user, kind, entity_type = F.col("fields")[1], F.col("fields")[2], F.col("fields")[3]
    parts = F.slice("fields", LEAST, F.greatest(F.size("fields") - (LEAST - 1), F.lit(0)))
    wanted = F.create_map(*(F.lit(each) for pair in TYPES.items() for each in pair))[F.col("type")]
    read = (
        lines.withColumn("fields", fields)
        .withColumn("enough", F.size("fields") >= LEAST)
        .withColumn("time", time)
        .withColumn("type", F.when(F.col("enough"), entity_type))
        .withColumn("parts", parts)
    )
    rejected = (
        F.when(~F.col("enough"), F.lit("has fewer than 5 fields"))
        .when(F.col("time").isNull() | (F.col("time") <= 0), F.lit("its time cannot be read"))
        .when(user == "", F.lit("names no user"))
        .when(~kind.isin(*(each.value for each in ChangeKind)), F.lit("is neither a creation nor a deletion"))
        .when(wanted.isNull() | (wanted != F.size("parts")), F.lit("is of a type that is not believed"))
    )
    event = F.struct(
        # A line that is repeated is one event.
        F.sha2("line", 256).alias("id"),
        F.col("type"),
        F.col("parts"),
        kind.alias("kind"),
        # The inventory reports only new entities, like CDAP's own audit messages.
        F.lit(Stage.MESSAGE.value).alias("stage"),
        F.lit(Outcome.DONE.value).alias("outcome"),
        user.alias("user"),
        F.lit(None).alias("requester"),
        F.col("time").alias("started"),
        F.col("time").alias("ended"),
        # The fields that an inventory lacks, in the order of `FOUND`.
        *(F.lit(None).alias(name) for name in FOUND.names[FOUND.names.index("ended") + 1 :]),
    ).cast(FOUND)
    none = F.array().cast(f"array<{FOUND.simpleString()}>")
    return read.withColumn("rejected", rejected).select(
        *lines.columns, "rejected", F.when(F.col("rejected").isNull(), F.array(event)).otherwise(none).alias("found")
    )


CSV = EventSource(read=read_text_files, parse=parse, rank=5)
