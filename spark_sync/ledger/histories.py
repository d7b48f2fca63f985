"""Histories for the fold of many events, by plans of Spark: the entities that may change, with their events and lives.

`few_histories` finds the same ones for a few events.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.cdap.creations import load_creations
from spark_sync.ledger.event import ChangeKind, Stage
from spark_sync.ledger.few_histories import BELOW
from spark_sync.ledger.ledger_rows import EVENT_FIELDS, PLACE
from spark_sync.ledger.life import NOT_BY_REQUEST, UNDECIDED_STATES
from spark_sync.ledger.spark_rows import event_column, life_column

_EVENT = ("type", "parts", *EVENT_FIELDS)


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
    deletes = (F.col("kind") == ChangeKind.DELETE.value) & F.col("type").isin(*BELOW)
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

    fits = reduce(or_, ((of(above, "type") == name) & of(entity, "type").isin(*below) for name, below in BELOW.items()))
    beginning = F.slice(of(entity, "parts"), F.lit(1), F.size(of(above, "parts")))
    return (of(entity, "namespace") == of(above, "namespace")) & fits & (beginning == of(above, "parts"))
