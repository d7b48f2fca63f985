"""Which entities new events may change, and what the events and the ledger hold of each: the fold's histories.

Two ways to the same histories: plans for Spark where there is much, and two simple questions where there is little,
because planning is then nearly all that a run costs.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.cdap.entity import EntityId
from spark_sync.event import EntityEvent, Kind
from spark_sync.ledger import History
from spark_sync.ledger_rows import event_column, life_column, read_life, to_json
from spark_sync.life import Life, State

PLACE = ("entity", "type", "parts", "namespace", "application")
_EVENT = ("source", "id", "type", "parts", "kind", "strength", "user", "time", "requester")
_ENDS_OTHERS = ("namespace", "application")
_MOST_EVENTS = 20_000

_event = msgspec.json.Decoder(EntityEvent)


def few_histories(new: Sequence[Row], events: DataFrame, lives: DataFrame) -> list[History] | None:
    """The histories of the entities that a few new events (`PLACE` and `kind`) are about.

    `None` where an event may concern entities that have none of their own, or where little news has a long history.
    """
    if any(row.kind == Kind.DELETE.value and row.type in _ENDS_OTHERS for row in new):
        return None
    entities = {row.entity: EntityId(row.type, tuple(row.parts)) for row in new}
    of_them = F.col("entity").isin(list(entities))
    ending_them = _ends_others() & F.col("namespace").isin(list({row.namespace for row in new}))
    event = event_column(F.struct(*_EVENT))
    rows = events.where(of_them | ending_them).select(to_json(event)).limit(_MOST_EVENTS + 1).collect()
    if len(rows) > _MOST_EVENTS:
        return None
    told = [_event.decode(row[0]) for row in rows]
    known: dict[EntityId, list[Life]] = {}
    for row in lives.where(of_them).select(to_json(life_column())).collect():
        life = read_life(row)
        known.setdefault(life.entity, []).append(life)
    return [
        History(entity, tuple(event for event in told if entity.is_within(event.entity)), tuple(known.get(entity, ())))
        for entity in entities.values()
    ]


def touched_by(new: DataFrame, lives: DataFrame) -> DataFrame:
    """The entities that new events are about, and those known below a deleted namespace or application."""
    direct, ended = new.select(*PLACE), deletions_above(new)
    if not ended.isEmpty():
        known = lives.where(F.col("ended").isNull()).select(*PLACE)
        below = known.join(
            ended.select(F.col("namespace").alias("in_namespace"), F.col("application").alias("in_application")),
            (F.col("namespace") == F.col("in_namespace"))
            & (F.col("in_application").isNull() | (F.col("application") == F.col("in_application"))),
            "left_semi",
        )
        direct = direct.union(below)
    return direct.dropDuplicates(["entity"])


def deletions_above(events: DataFrame) -> DataFrame:
    """The deletions that end more than one entity."""
    return events.where(_ends_others())


def histories(touched: DataFrame, events: DataFrame, above: DataFrame, lives: DataFrame) -> DataFrame:
    """One row an entity whose lives may change, in the shape of `History`; `above`: deletions of what others are in.

    Left out, because the fold would ignore them: events before the last decided life's beginning or end, but for new
    creations; and entities that exist, are decided and have neither such a creation nor a deletion.
    """
    columns = (*_EVENT, "is_new")
    event = F.struct(*columns).alias("event")
    concerned = events.join(touched.select("entity"), "entity").select("entity", event)
    if not above.isEmpty():
        t, d = touched.alias("t"), above.alias("d")
        ending = t.join(
            d,
            (F.col("t.entity") != F.col("d.entity"))
            & (F.col("t.namespace") == F.col("d.namespace"))
            & (F.col("d.application").isNull() | (F.col("t.application") == F.col("d.application"))),
        )
        concerned = concerned.union(
            ending.select("t.entity", F.struct(*(f"d.{column}" for column in columns)).alias("event"))
        )
    mine = lives.join(touched.select("entity"), "entity", "left_semi")
    decided = F.col("state") != State.UNCONFIRMED.value
    known = mine.groupBy("entity").agg(
        F.collect_list(life_column()).alias("lives"),
        F.max(F.when(decided, F.coalesce("ended", "begun"))).alias("horizon"),
        F.bool_or(decided & F.col("ended").isNull()).alias("alive"),
        F.bool_or(~decided).alias("unconfirmed"),
    )
    deletes = F.col("event.kind") == Kind.DELETE.value
    too_late = F.col("event.is_new") & ~deletes & (F.col("event.time") < F.col("horizon"))
    after = (
        concerned.join(known.select("entity", "horizon"), "entity", "left")
        .where(F.col("horizon").isNull() | (F.col("event.time") >= F.col("horizon")) | too_late)
        .groupBy("entity")
        .agg(
            F.collect_list("event").alias("events"),
            F.bool_or(deletes & F.coalesce(F.col("event.time") >= F.col("horizon"), F.lit(True))).alias("ends"),
            F.bool_or(too_late).alias("too_late"),
        )
    )
    no = F.lit(False)
    may_change = (
        touched.select("entity", "type", "parts")
        .join(after, "entity", "left")
        .join(known, "entity", "left")
        .where(
            ~F.coalesce("alive", no)
            | F.coalesce("ends", no)
            | F.coalesce("unconfirmed", no)
            | F.coalesce("too_late", no)
        )
    )
    return may_change.select(
        F.struct("type", "parts").alias("entity"),
        F.coalesce(F.transform("events", event_column), F.array()).alias("events"),
        F.coalesce("lives", F.array()).alias("lives"),
    )


def _ends_others() -> Column:
    return (F.col("kind") == Kind.DELETE.value) & F.col("type").isin(*_ENDS_OTHERS)
