"""Rows of the ledger's tables, transferred between Spark and Python as one JSON text per row.

Spark writes and reads JSON faster than it transfers rows of many columns, and msgspec checks every type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from ranger_cdap.cdap.entity import EntityId, entity_type
from spark_sync.ledger.event import EntityEvent, Outcome, Stage, Strength
from spark_sync.ledger.ledger import History, LedgerChange
from spark_sync.ledger.life import Life

KEY = "instance string, entity string, type string, parts array<string>, namespace string, application string"
EVENTS = (
    f"source string, id string, {KEY}, kind string, strength string, user string, time bigint, requester string,"
    " stage string, outcome string, started bigint, ended bigint, clock string, check string, request string,"
    " version string, child string, received bigint, caller string, requested bigint, round bigint"
)
LIVES = (
    f"{KEY}, number int, state string, reason string, creator string, accesses array<string>,"
    " begun bigint, begun_source string, begun_id string, ended bigint, ended_source string, ended_id string,"
    " policy_id bigint, policy_version bigint,"
    " source string, event string, applied array<string>, merged array<string>, conflict string, written string,"
    " certain bigint, candidates array<string>, former string, revoke boolean, versions array<string>, rule int,"
    " terms struct<profile: string, delegate_admin: boolean, extra_group: string, plugins: string>"
)
BASELINE = "instance string, taken bigint, entities bigint, journals map<string,string>"
CHANGES = f"{LIVES}, dropped boolean"

_life = msgspec.json.Decoder(Life)
_history = msgspec.json.Decoder(History)
_encode = msgspec.json.Encoder().encode

Row = tuple[str]
"""A row of one column, JSON."""


def struct_of(schema: str) -> StructType:
    """Return the schema as Spark's type."""
    return cast(StructType, StructType.fromDDL(schema))


def names_of(schema: str) -> list[str]:
    """Return the names of a schema's columns."""
    return list(struct_of(schema).names)


def life_column() -> Column:
    """Return a row of `LIVES` in the shape of `Life`."""
    begun = _position(F.col("begun"), F.lit(False), F.col("begun_source"), F.col("begun_id"))
    ended = _position(F.col("ended"), F.lit(True), F.col("ended_source"), F.col("ended_id"))
    texts = ("source", "event", "written", "conflict", "former")
    lists = ("accesses", "applied", "merged", "candidates")
    same = ("number", "creator", "state", "reason", "policy_id", "policy_version", "versions", "terms")
    return F.struct(
        F.struct(F.col("type").alias("type"), F.col("parts").alias("parts")).alias("entity"),
        begun.alias("begun"),
        F.when(F.col("ended").isNotNull(), ended).alias("ended"),
        *(F.coalesce(F.col(name), F.lit("")).alias(name) for name in texts),
        *(F.coalesce(F.col(name), F.array()).alias(name) for name in lists),
        *(F.col(name).alias(name) for name in same),
        F.coalesce("certain", "begun").alias("certain"),
        F.coalesce("revoke", F.lit(False)).alias("revoke"),
        # A life without a rule was decided before there were two.
        F.coalesce("rule", F.lit(1)).alias("rule"),
    )


def event_column(event: Column) -> Column:
    """Return a struct of columns of `EVENTS` in the shape of `EntityEvent`; old rows have a single time."""
    same = [event[name].alias(name) for name in ("kind", "user", "source", "id")]
    texts = ("requester", "clock", "check", "request", "version", "child", "caller")
    times = ("started", "ended", "received")
    by_cdap = event["strength"] == Strength.AUTHORITATIVE.value
    stage = F.when(by_cdap, Stage.MESSAGE.value).otherwise(Stage.REQUEST.value)
    return F.struct(
        F.struct(event["type"].alias("type"), event["parts"].alias("parts")).alias("entity"),
        *same,
        F.coalesce(event["stage"], stage).alias("stage"),
        F.coalesce(event["outcome"], F.lit(Outcome.DONE.value)).alias("outcome"),
        *(F.coalesce(event[name], event["time"]).alias(name) for name in times),
        *(F.coalesce(event[name], F.lit("")).alias(name) for name in texts),
        F.coalesce(event["requested"], F.lit(0)).alias("requested"),
    )


def to_json(column: Column) -> Column:
    """Return the column as text, with explicit nulls, so that a missing value is not taken for a default."""
    return F.to_json(column, {"ignoreNullFields": "false"})


def read_life(row: Row) -> Life:
    """Read the text that `to_json(life_column())` wrote."""
    return _life.decode(row[0])


def folded(decide: Callable[[History], LedgerChange | None], instance: str, rows: Iterable[Row]) -> Iterator[Row]:
    """Turn histories into the rows of `change_rows`; runs on Spark's executors."""
    for row in rows:
        change = decide(_history.decode(row[0]))
        if change:
            yield from change_rows(instance, change)


def change_rows(instance: str, change: LedgerChange) -> Iterator[Row]:
    """Return a row of `CHANGES` for each life that a change writes or drops."""
    for life in change.lives:
        yield (_encode({**_columns(instance, life), "dropped": False}).decode(),)
    for number in change.dropped:
        row = {"instance": instance, "entity": str(change.entity), "number": number, "dropped": True}
        yield (_encode(row).decode(),)


def _columns(instance: str, life: Life) -> dict[str, Any]:
    entity, begun, ended = life.entity, life.begun, life.ended
    return {
        "instance": instance,
        "entity": str(entity),
        "type": entity.type,
        "parts": entity.parts,
        "namespace": entity.namespace,
        "application": _application(entity),
        "number": life.number,
        "state": life.state,
        "reason": life.reason,
        "creator": life.creator,
        "accesses": life.accesses,
        "begun": begun.time,
        "begun_source": begun.source,
        "begun_id": begun.id,
        "ended": ended.time if ended else None,
        "ended_source": ended.source if ended else None,
        "ended_id": ended.id if ended else None,
        "policy_id": life.policy_id,
        "policy_version": life.policy_version,
        "source": life.source,
        "event": life.event,
        "applied": life.applied,
        "merged": life.merged,
        "conflict": life.conflict,
        "written": life.written,
        "certain": life.certain,
        "candidates": life.candidates,
        "former": life.former,
        "revoke": life.revoke,
        "versions": life.versions,
        "rule": life.rule,
        "terms": life.terms,
    }


def event_row(instance: str, event: EntityEvent) -> dict[str, Any]:
    """Return a row of `EVENTS` without its round."""
    entity = event.entity
    fields = ("source", "id", "user", "requester", "started", "ended", "clock", "check", "request", "version", "child")
    return {
        "instance": instance,
        "entity": str(entity),
        "type": entity.type,
        "parts": list(entity.parts),
        "namespace": entity.namespace,
        "application": _application(entity),
        "kind": event.kind.value,
        "strength": Strength.AUTHORITATIVE.value if event.stage is Stage.MESSAGE else Strength.AMBIGUOUS.value,
        "stage": event.stage.value,
        "outcome": event.outcome.value,
        "time": event.position.time,
        "received": event.received,
        "caller": event.caller,
        "requested": event.requested,
        **{name: getattr(event, name) for name in fields},
    }


def _application(entity: EntityId) -> str | None:
    application = entity.ancestor("application") if "application" in entity_type(entity.type).path else None
    return application.parts[-1] if application else None


def _position(time: Column, after_creations: Column, source: Column, id_: Column) -> Column:
    return F.struct(
        time.alias("time"), after_creations.alias("after_creations"), source.alias("source"), id_.alias("id")
    )
