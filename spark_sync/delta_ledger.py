"""`DeltaLedger`: the ledger as Delta tables that people can query too: `events`, `ledger`, `baseline`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from ranger_cdap.cdap.entity import EntityId, entity_type
from ranger_cdap.errors import SyncError
from spark_sync.event import EntityEvent, Kind, Position, Strength
from spark_sync.fold import enter_known
from spark_sync.ledger import Change, History
from spark_sync.life import Life, State

KEY = "instance string, entity string, type string, parts array<string>, namespace string, application string"
EVENTS = f"source string, id string, {KEY}, kind string, strength string, user string, time bigint, round bigint"
LIVES = (
    f"{KEY}, number int, state string, reason string, creator string, accesses array<string>,"
    " begun bigint, begun_source string, begun_id string, ended bigint, ended_source string, ended_id string,"
    " policy_id bigint, policy_version bigint"
)
BASELINE = "instance string, taken bigint, entities bigint"


class _Progress(msgspec.Struct):
    """Which round of events is folded; losing it costs time only, because folding again changes nothing."""

    folded: int = 0


class DeltaLedger:
    """As `spark_sync.ledger.Ledger`, in Delta tables below one directory; one writer at a time (see `lease`)."""

    def __init__(self, spark: SparkSession, directory: Path, instance: str) -> None:
        self._spark = spark
        self._directory = directory.absolute()
        self._instance = instance
        self._events = self._table("events", EVENTS)
        self._lives = self._table("ledger", LIVES)
        self._baseline = self._table("baseline", BASELINE)

    def add_events(self, events: DataFrame) -> int:
        """As `Ledger.add_events`."""
        new = events.withColumn("round", F.lit(self._folded() + 1))
        merged = (
            self._events.alias("known")
            .merge(new.alias("new"), "known.source = new.source AND known.id = new.id")
            .whenNotMatchedInsertAll()
            .execute()
        )
        return int(merged.collect()[0]["num_inserted_rows"])

    def unfolded(self) -> Iterator[History]:
        """As `Ledger.unfolded`."""
        events, lives = self._events_here(), self._lives_here()
        new = events.where(F.col("round") > self._folded())
        if new.isEmpty():
            return
        touched = _touched(new, lives).persist()
        try:
            for row in _histories(touched, events, lives).toLocalIterator():
                entity = _entity(row)
                yield History(entity, tuple(map(_event, row.events or ())), tuple(map(_life, row.lives or ())))
        finally:
            touched.unpersist()

    def mark_folded(self) -> None:
        """As `Ledger.mark_folded`."""
        newest = self._events_here().agg(F.max("round")).collect()[0][0]
        if newest is not None and newest != self._folded():
            self._set_folded(newest)

    def record(self, changes: Iterable[Change]) -> None:
        """As `Ledger.record`."""
        rows = [_row(self._instance, life) for change in changes for life in change.lives]
        gone = [(self._instance, str(change.entity), number) for change in changes for number in change.dropped]
        if not rows and not gone:
            return
        dropped = self._spark.createDataFrame(gone, "instance string, entity string, number int")
        changed = self._frame(rows, LIVES).withColumn("dropped", F.lit(False))
        new = changed.unionByName(dropped.withColumn("dropped", F.lit(True)), allowMissingColumns=True)
        columns: dict[str, str | Column] = {name: f"new.{name}" for name in _names(LIVES)}
        (
            self._lives.alias("known")
            .merge(
                new.alias("new"),
                "known.instance = new.instance AND known.entity = new.entity AND known.number = new.number",
            )
            .whenMatchedDelete("new.dropped")
            .whenMatchedUpdate(set=columns)
            .whenNotMatchedInsert("NOT new.dropped", values=columns)
            .execute()
        )

    def lives(self, states: Collection[State]) -> list[Life]:
        """As `Ledger.lives`."""
        wanted = self._lives_here().where(F.col("state").isin(*(state.value for state in states)))
        return [_life(row) for row in wanted.orderBy("entity", "number").collect()]

    def counts(self) -> Counter[State]:
        """As `Ledger.counts`."""
        return Counter(
            {State(row.state): row["count"] for row in self._lives_here().groupBy("state").count().collect()}
        )

    def baseline(self) -> int | None:
        """As `Ledger.baseline`."""
        taken: int | None = self._of_instance(self._baseline).agg(F.max("taken")).collect()[0][0]
        return taken

    def enter_baseline(self, taken: int, entities: Iterable[EntityId]) -> int:
        """As `Ledger.enter_baseline`."""
        lives: dict[EntityId, list[Life]] = {}
        for row in self._lives_here().collect():
            lives.setdefault(_entity(row), []).append(_life(row))
        found = sorted(set(entities))
        known = [life for entity in found if (life := enter_known(entity, lives.get(entity, ()), taken))]
        # First the time: killed here, an entity of the inventory is only folded as if it were not known yet once the
        # command is repeated, and creations up to that time count nothing already.
        self._frame([(self._instance, taken, len(found))], BASELINE).write.format("delta").mode("append").save(
            str(self._directory / "baseline")
        )
        dropped = {
            life.entity: (life.number,)
            for life in known
            for life in lives.get(life.entity, ())
            if life.state is State.UNCONFIRMED
        }
        self.record([Change(life.entity, (life,), dropped.get(life.entity, ())) for life in known])
        self._set_folded(0)
        return len(known)

    def _table(self, name: str, schema: str) -> DeltaTable:
        location = str(self._directory / name)
        if not DeltaTable.isDeltaTable(self._spark, location):
            DeltaTable.createIfNotExists(self._spark).location(location).addColumns(_struct(schema)).execute()
        return DeltaTable.forPath(self._spark, location)

    def _frame(self, rows: list[tuple[Any, ...]], schema: str) -> DataFrame:
        return self._spark.createDataFrame(rows, _struct(schema))

    def _of_instance(self, table: DeltaTable) -> DataFrame:
        return table.toDF().where(F.col("instance") == self._instance)

    def _events_here(self) -> DataFrame:
        return self._of_instance(self._events)

    def _lives_here(self) -> DataFrame:
        return self._of_instance(self._lives)

    @property
    def _progress(self) -> Path:
        return self._directory / f"progress-{self._instance}.json"

    def _folded(self) -> int:
        try:
            return msgspec.json.decode(self._progress.read_bytes(), type=_Progress).folded
        except FileNotFoundError:
            return 0
        except (OSError, msgspec.DecodeError) as e:
            raise SyncError(
                f"`{self._progress}` can't be read ({type(e).__name__}); delete it to fold all again"
            ) from e

    def _set_folded(self, newest: int) -> None:
        temporary = self._progress.with_suffix(".new")
        temporary.write_bytes(msgspec.json.encode(_Progress(newest)))
        temporary.replace(self._progress)


def _touched(new: DataFrame, lives: DataFrame) -> DataFrame:
    """The entities that new events are about, and those known below a deleted namespace or application."""
    key = ("entity", "type", "parts", "namespace", "application")
    direct = new.select(*key)
    ended = _deletions_above(new)
    known = lives.where(F.col("ended").isNull()).select(*key)
    below = known.join(
        ended.select(F.col("namespace").alias("in_namespace"), F.col("application").alias("in_application")),
        (F.col("namespace") == F.col("in_namespace"))
        & (F.col("in_application").isNull() | (F.col("application") == F.col("in_application"))),
        "left_semi",
    )
    return direct.union(below).dropDuplicates(["entity"])


def _deletions_above(events: DataFrame) -> DataFrame:
    return events.where((F.col("kind") == Kind.DELETE.value) & F.col("type").isin("namespace", "application"))


def _histories(touched: DataFrame, events: DataFrame, lives: DataFrame) -> DataFrame:
    """One row an entity whose lives may change: `type, parts, events, lives`.

    Left out, because the fold would ignore them: events before the last decided life's beginning or end, and entities
    that exist, are decided and have no deletion after that.
    """
    event = F.struct("source", "id", "type", "parts", "kind", "strength", "user", "time").alias("event")
    own = events.join(touched.select("entity"), "entity").select("entity", event)
    t, d = touched.alias("t"), _deletions_above(events).alias("d")
    above = t.join(
        d,
        (F.col("t.entity") != F.col("d.entity"))
        & (F.col("t.namespace") == F.col("d.namespace"))
        & (F.col("d.application").isNull() | (F.col("t.application") == F.col("d.application"))),
    ).select(
        "t.entity",
        F.struct("d.source", "d.id", "d.type", "d.parts", "d.kind", "d.strength", "d.user", "d.time").alias("event"),
    )
    mine = lives.join(touched.select("entity"), "entity", "left_semi")
    decided = F.col("state") != State.UNCONFIRMED.value
    known = mine.groupBy("entity").agg(
        F.collect_list(F.struct(*_names(LIVES))).alias("lives"),
        F.max(F.when(decided, F.coalesce("ended", "begun"))).alias("horizon"),
        F.bool_or(decided & F.col("ended").isNull()).alias("alive"),
        F.bool_or(~decided).alias("unconfirmed"),
    )
    after = (
        own.union(above)
        .join(known.select("entity", "horizon"), "entity", "left")
        .where(F.col("horizon").isNull() | (F.col("event.time") >= F.col("horizon")))
        .groupBy("entity")
        .agg(F.collect_list("event").alias("events"), F.bool_or(F.col("event.kind") == Kind.DELETE.value).alias("ends"))
    )
    no = F.lit(False)
    return (
        touched.select("entity", "type", "parts")
        .join(after, "entity", "left")
        .join(known, "entity", "left")
        .where(~F.coalesce("alive", no) | F.coalesce("ends", no) | F.coalesce("unconfirmed", no))
    )


def _struct(schema: str) -> StructType:
    return cast(StructType, StructType.fromDDL(schema))


def _names(schema: str) -> list[str]:
    return list(_struct(schema).names)


def _entity(row: Row) -> EntityId:
    return EntityId(row.type, tuple(row.parts))


def _event(row: Row) -> EntityEvent:
    return EntityEvent(
        entity=_entity(row),
        kind=Kind(row.kind),
        user=row.user,
        time=row.time,
        source=row.source,
        strength=Strength(row.strength),
        id=row.id,
    )


def _life(row: Row) -> Life:
    return Life(
        entity=_entity(row),
        number=row.number,
        creator=row.creator,
        begun=Position(row.begun, False, row.begun_source, row.begun_id),
        state=State(row.state),
        ended=None if row.ended is None else Position(row.ended, True, row.ended_source, row.ended_id),
        reason=row.reason,
        accesses=tuple(row.accesses),
        policy_id=row.policy_id,
        policy_version=row.policy_version,
    )


def _row(instance: str, life: Life) -> tuple[Any, ...]:
    entity = life.entity
    application = entity.ancestor("application") if "application" in entity_type(entity.type).path else None
    ended = life.ended
    return (
        *(instance, str(entity), entity.type, list(entity.parts), entity.namespace),
        application.parts[-1] if application else None,
        *(life.number, life.state.value, life.reason, life.creator, list(life.accesses)),
        *(life.begun.time, life.begun.source, life.begun.id),
        *((ended.time, ended.source, ended.id) if ended else (None, None, None)),
        *(life.policy_id, life.policy_version),
    )
