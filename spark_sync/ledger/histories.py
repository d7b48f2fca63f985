"""Histories for the fold: the entities that new events may change, with their events and lives.

Two ways to the same histories: Spark plans for many events, and two simple queries for few, when planning is nearly
the whole cost of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Final

import msgspec
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityId, entity_types
from spark_sync.ledger.event import ChangeKind, EntityEvent, Stage
from spark_sync.ledger.ledger import History
from spark_sync.ledger.ledger_rows import event_column, life_column, read_life, to_json
from spark_sync.ledger.life import NOT_BY_REQUEST, UNDECIDED_STATES, Life
from spark_sync.ledger.matching import concerns

PLACE = ("entity", "type", "parts", "namespace", "application")
_EVENT = (
    *("source", "id", "type", "parts", "kind", "strength", "user", "time", "requester", "stage", "outcome", "started"),
    *("ended", "clock", "check", "request", "version", "child", "received", "caller", "requested"),
)
_BELOW: Final[Mapping[str, tuple[str, ...]]] = {
    above: below
    for above in entity_types().keys() - {"instance"}
    if (below := tuple(name for name, known in entity_types().items() if above in known.path and name != above))
}
"""The entity types below each type: deleted with it, or meant by a check of it."""
_MOST_EVENTS = 20_000
_MOST_LIVES = 1_000

_event = msgspec.json.Decoder(EntityEvent)


def few_histories(new: Sequence[Row], events: DataFrame, lives: DataFrame) -> list[History] | None:
    """Return the histories that a few new events (`PLACE`, `kind` and `child`) concern.

    `None` if they concern many lives or many events.
    """
    direct = {EntityId(row.type, tuple(row.parts)) for row in new if not row.child}
    above = [
        row
        for row in new
        if row.child or (row.kind == ChangeKind.DELETE.value and row.type in _BELOW) or _replaces(row)
    ]
    mine = _is_one_of(direct) | F.col("namespace").isin(sorted({row.namespace for row in above}))
    found = lives.where(mine).select(to_json(life_column())).limit(_MOST_LIVES + 1).collect()
    if len(found) > _MOST_LIVES:
        return None
    known: dict[EntityId, list[Life]] = {}
    for life in map(read_life, found):
        known.setdefault(life.entity, []).append(life)
    touched = direct | {
        entity
        for entity, of_it in known.items()
        if any(_reaches(row, entity) for row in above if row.child or any(life.is_open for life in of_it))
    }
    wanted = _is_one_of(touched) | (_concerns_others() & F.col("namespace").isin(sorted({e.parts[0] for e in touched})))
    for row in above:
        if row.child:
            wanted |= (F.col("namespace") == row.namespace) & (F.col("type") == row.child)
    event = event_column(F.struct(*_EVENT))
    rows = events.where(wanted).select(to_json(event)).limit(_MOST_EVENTS + 1).collect()
    if len(rows) > _MOST_EVENTS:
        return None
    reported = [_event.decode(row[0]) for row in rows]
    touched |= {
        event.entity
        for event in reported
        if not event.child and any(_reaches(row, event.entity) for row in above if row.child)
    }
    return [
        History(entity, tuple(event for event in reported if concerns(entity, event)), tuple(known.get(entity, ())))
        for entity in sorted(touched)
    ]


def _reaches(row: Row, entity: EntityId) -> bool:
    """Return whether a deletion or a check may concern an entity below its own."""
    place = EntityId(row.type, tuple(row.parts))
    return entity.is_within(place) and (entity.type == row.child if row.child else entity != place)


def _replaces(row: Row) -> bool:
    return row.kind == ChangeKind.CREATE.value and row.type in load_creations().replaced


def _is_one_of(entities: Iterable[EntityId]) -> Column:
    return F.col("entity").isin(sorted(map(str, entities)))


def affected_by(new: DataFrame, events: DataFrame, lives: DataFrame) -> DataFrame:
    """Return the entities of new events, and those below a deleted or checked entity.

    A deletion concerns existing entities; a check may concern any that was ever reported.
    """
    direct, above = new.select(*PLACE), events_above(new)
    if not above.isEmpty():
        checks = F.col("child") != ""
        existing = lives.where(F.col("ended").isNull()).select(*PLACE)
        direct = direct.union(_below(existing, above.where(~checks)))
        if not above.where(checks).isEmpty():
            known = lives.select(*PLACE).union(events.where(~_is_about_others()).select(*PLACE))
            direct = direct.union(_below(known, above.where(checks)))
    return direct.dropDuplicates(["entity"])


def events_above(events: DataFrame) -> DataFrame:
    """Return the events that concern more than one entity: deletions and checks of what others are in."""
    return events.where(_concerns_others())


def histories(touched: DataFrame, events: DataFrame, above: DataFrame, lives: DataFrame) -> DataFrame:
    """Return one row per entity whose lives may change, in the shape of `History`; `above`: events about ancestors.

    Left out, because the fold would change nothing: entities that exist, are decided and were never deleted, if the
    only new events are further creation requests that can only be the creator's.
    """
    columns = (*_EVENT, "is_new")
    event = F.struct(*columns).alias("event")
    concerned = events.join(touched.select("entity"), "entity").select("entity", event)
    if not above.isEmpty():
        over = touched.alias("t").join(above.alias("d"), _is_below("t", "d"))
        concerned = concerned.union(
            over.select("t.entity", F.struct(*(f"d.{column}" for column in columns)).alias("event"))
        )
    stage = F.coalesce("event.stage", F.lit(""))
    of_another = ~F.startswith(F.col("entity"), F.concat("event.type", F.lit(":")))
    deletes = (F.col("event.kind") == ChangeKind.DELETE.value) | of_another
    odd = (stage == Stage.REJECTED.value) | (F.coalesce("event.requester", F.lit("")) != "")
    answered = F.coalesce("event.is_new", F.lit(True)) & (stage == Stage.ANSWER.value)
    reported = concerned.groupBy("entity").agg(
        F.collect_list("event").alias("events"),
        F.bool_or(deletes | answered).alias("news"),
        F.bool_or(odd).alias("odd"),
        F.collect_set(F.when(stage != Stage.ANSWER.value, F.col("event.user"))).alias("users"),
    )
    is_open = F.col("ended").isNull()
    decided = ~F.col("state").isin(*(state.value for state in UNDECIDED_STATES))
    known = (
        lives.join(touched.select("entity"), "entity", "left_semi")
        .groupBy("entity")
        .agg(
            F.collect_list(life_column()).alias("lives"),
            F.bool_or(is_open & decided).alias("alive"),
            F.bool_or(is_open & F.col("source").isin(*NOT_BY_REQUEST)).alias("listed"),
            F.max(F.when(is_open, F.col("creator"))).alias("creator"),
        )
    )
    by_the_creator = ~F.col("odd") & (F.size(F.array_except("users", F.array("creator"))) == 0)
    again = F.col("alive") & ~F.col("news") & (F.col("listed") | by_the_creator)
    may_change = (
        touched.select("entity", "type", "parts")
        .join(reported, "entity", "left")
        .join(known, "entity", "left")
        .where(~F.coalesce(again, F.lit(False)))
    )
    return may_change.select(
        F.struct("type", "parts").alias("entity"),
        F.coalesce(F.transform("events", event_column), F.array()).alias("events"),
        F.coalesce("lives", F.array()).alias("lives"),
    )


def _concerns_others() -> Column:
    deletes = (F.col("kind") == ChangeKind.DELETE.value) & F.col("type").isin(*_BELOW)
    replaces = (F.col("kind") == ChangeKind.CREATE.value) & F.col("type").isin(*load_creations().replaced)
    return deletes | replaces | _is_about_others()


def _is_about_others() -> Column:
    return F.coalesce("child", F.lit("")) != ""


def _below(entities: DataFrame, above: DataFrame) -> DataFrame:
    return entities.alias("t").join(above.alias("d"), _is_below("t", "d"), "left_semi")


def _is_below(entity: str, above: str) -> Column:
    """Return whether an entity may be in another one, by the aliases of their rows."""

    def of(alias: str, name: str) -> Column:
        return F.col(f"{alias}.{name}")

    fits = reduce(
        or_, ((of(above, "type") == name) & of(entity, "type").isin(*below) for name, below in _BELOW.items())
    )
    beginning = F.slice(of(entity, "parts"), F.lit(1), F.size(of(above, "parts")))
    return (of(entity, "namespace") == of(above, "namespace")) & fits & (beginning == of(above, "parts"))
