"""The plain job beside which `benchmarks.bulk` measures: who created which entity, as a page of Spark SQL.

Lives are told apart by the deletions before them, the first creation of each names the creator, and what exists already
is left out. Lives are appended as Parquet files, the cheapest table there is. It believes every line: it knows nothing
of names, clocks, checks, failed requests, or a second report of the same request.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

SCHEMA = pa.schema(
    [
        ("entity", pa.string()),
        ("number", pa.int32()),
        ("creator", pa.string()),
        ("begun", pa.int64()),
        ("ended", pa.int64()),
    ]
)
LIVES = "lives"

SKEW = 2_000
"""Milliseconds within which the first of several creators is not known."""

_MESSAGE = (
    "time LONG, type STRING, user STRING, entityId STRUCT<namespace STRING, stream STRING>,"
    " metadataEntity STRUCT<details: STRUCT<namespace: STRING, dataset: STRING>, type: STRING>"
)
_RECORD = (
    "record STRUCT<method: STRING, uri: STRING, code: INT, started: LONG, ended: LONG,"
    " checks: ARRAY<STRUCT<principal: STRING>>>"
)
_NAME = "([^/]+)"
_APP = f"/v3/namespaces/{_NAME}/apps/{_NAME}"
_REQUESTS = (
    ("PUT", "CREATE", "application", _APP),
    ("DELETE", "DELETE", "application", _APP),
    ("PUT", "CREATE", "schedule", f"{_APP}/schedules/{_NAME}"),
    ("POST", "CREATE", "artifact", f"/v3/namespaces/{_NAME}/artifacts/{_NAME}"),
    ("PUT", "CREATE", "secure_key", f"/v3/namespaces/{_NAME}/securekeys/{_NAME}"),
    ("DELETE", "DELETE", "namespace", f"/v3/unrecoverable/namespaces/{_NAME}"),
)
_LOCAL = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"


def write_known(path: Path, entities: Iterable[tuple[str, list[str], int]]) -> None:
    """Begin the table of lives with entities that existed at that time, and whose creators are unknown."""
    rows = [(f"{type_}:{'.'.join(parts)}", 1, None, begun, None) for type_, parts, begun in entities]
    columns = list(zip(*rows, strict=True))
    path.mkdir()
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    pq.write_table(pa.table(arrays, schema=SCHEMA), path / "known.parquet")


def write_lives(spark: SparkSession, home: Path) -> None:
    """Append the lives that the lines of `topic` and `records` tell of, and the ends of those that were known."""
    lives = spark.read.parquet(str(home / LIVES))
    known = lives.groupBy("entity", "number", "creator", "begun").agg(F.max("ended").alias("ended"))
    told = _messages(spark, home).unionByName(_requests(spark, home)).cache()
    exists = known.where("ended IS NULL").select("entity").union(told.select("entity")).distinct()
    events = told.unionByName(_from_above(told, exists))
    newest = known.groupBy("entity").agg(
        F.max("number").alias("last"), F.max_by(F.struct("creator", "begun", "ended"), "number").alias("life")
    )
    before = Window.partitionBy("entity").orderBy("time", "kind").rowsBetween(Window.unboundedPreceding, -1)
    is_deletion = (F.col("kind") == "DELETE").cast("int")
    creation = F.when(F.col("kind") == "CREATE", F.col("time"))
    rivals = F.collect_set(F.when(creation <= F.col("begun") + SKEW, F.col("user")))
    lives = (
        events.withColumn("deletions", F.coalesce(F.sum(is_deletion).over(before), F.lit(0)))
        .withColumn("begun", F.min(creation).over(Window.partitionBy("entity", "deletions")))
        .groupBy("entity", "deletions", "begun")
        .agg(
            F.when(F.size(rivals) == 1, F.min_by("user", "time")).alias("creator"),
            F.max(F.when(F.col("kind") == "DELETE", F.col("time"))).alias("ended"),
        )
        .join(newest, "entity", "left")
    )
    goes_on = (F.col("deletions") == 0) & F.col("last").isNotNull() & F.col("life.ended").isNull()
    new = lives.where(~F.coalesce(goes_on, F.lit(False)) & F.col("begun").isNotNull())
    number = F.row_number().over(Window.partitionBy("entity").orderBy("deletions")) + F.coalesce("last", F.lit(0))
    new = new.select("entity", number.cast("int").alias("number"), "creator", "begun", "ended")
    over = lives.where(goes_on & F.col("ended").isNotNull()).select(
        "entity", F.col("last").alias("number"), "life.creator", "life.begun", "ended"
    )
    new.unionByName(over).write.mode("append").parquet(str(home / LIVES))
    told.unpersist()


def _messages(spark: SparkSession, home: Path) -> DataFrame:
    """Return the messages of the audit topic that create or delete a dataset or a stream."""
    message = spark.read.text(str(home / "topic")).select(F.from_json("value", _MESSAGE).alias("m")).select("m.*")
    details = F.col("metadataEntity.details")
    dataset = F.concat(F.lit("dataset:"), details["namespace"], F.lit("."), details["dataset"])
    stream = F.concat(F.lit("stream:"), "entityId.namespace", F.lit("."), "entityId.stream")
    return (
        message.where(F.col("type").isin("CREATE", "DELETE"))
        .select(
            F.coalesce(dataset, stream).alias("entity"),
            F.col("type").alias("kind"),
            "user",
            "time",
            F.col("time").alias("over"),
        )
        .where(F.col("entity").isNotNull() & ~F.col("entity").rlike(_LOCAL))
    )


def _requests(spark: SparkSession, home: Path) -> DataFrame:
    """Return the requests that succeeded and create or delete something."""
    record = spark.read.text(str(home / "records")).select(F.from_json("value", _RECORD)["record"].alias("r"))
    record = record.where("r.code = 200 AND r.method <> 'GET'").select("r.*")
    event: Column = F.lit(None)
    for method, kind, type_, uri in _REQUESTS:
        names = [F.regexp_extract("uri", f"^{uri}$", n + 1) for n in range(uri.count(_NAME))]
        entity = F.concat(F.lit(f"{type_}:"), F.concat_ws(".", *names))
        fits = (F.col("method") == method) & F.col("uri").rlike(f"^{uri}$")
        event = F.when(fits, F.struct(entity.alias("entity"), F.lit(kind).alias("kind"))).otherwise(event)
    time = F.when(event["kind"] == "DELETE", F.col("ended")).otherwise(F.col("started"))
    return record.select(
        event["entity"].alias("entity"), event["kind"].alias("kind"), F.col("checks")[0]["principal"].alias("user"),
        time.alias("time"), F.col("ended").alias("over"),
    ).where("entity IS NOT NULL")  # fmt: skip


def _from_above(events: DataFrame, exists: DataFrame) -> DataFrame:
    """Return the deletions of what is in a deleted namespace or application, or of an application deployed again."""
    name = F.split_part("entity", F.lit(":"), F.lit(2))
    above = (
        events.where("entity LIKE 'namespace:%' AND kind = 'DELETE' OR entity LIKE 'application:%'")
        .select(name.alias("above"), "over")
    )  # fmt: skip
    namespace, app = F.substring_index(name, ".", 1), F.substring_index(name, ".", 2)
    schedule = F.when(F.col("entity").startswith("schedule:"), app)
    inside = exists.where("entity NOT LIKE 'namespace:%'").withColumn("above", F.explode(F.array(namespace, schedule)))
    return inside.join(F.broadcast(above), "above").select(
        "entity", F.lit("DELETE").alias("kind"), F.lit(None).cast("string").alias("user"),
        F.col("over").alias("time"), "over",
    )  # fmt: skip
