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
from spark_sync.ledger_mark import Mark
from spark_sync.life import Life, State

KEY = "instance string, entity string, type string, parts array<string>, namespace string, application string"
EVENTS = (
    f"source string, id string, {KEY}, kind string, strength string, user string, time bigint, requester string,"
    " round bigint"
)
LIVES = (
    f"{KEY}, number int, state string, reason string, creator string, accesses array<string>,"
    " begun bigint, begun_source string, begun_id string, ended bigint, ended_source string, ended_id string,"
    " policy_id bigint, policy_version bigint,"
    " source string, event string, applied array<string>, merged array<string>, conflict string, written string"
)
BASELINE = "instance string, taken bigint, entities bigint"


class _Progress(msgspec.Struct, frozen=True):
    """Which round of events is folded, and up to which time; losing it costs time only: folding twice changes nothing.

    Events of folded rounds that were younger than that are still to be folded.
    """

    folded: int = 0
    until: int = 0


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
        new = events.withColumn("round", F.lit(self._folded().folded + 1))
        merged = (
            self._events.alias("known")
            .merge(new.alias("new"), "known.source = new.source AND known.id = new.id")
            .whenNotMatchedInsertAll()
            .execute()
        )
        return int(merged.collect()[0]["num_inserted_rows"])

    def unfolded(self, until: int, window: int) -> Iterator[History]:
        """As `Ledger.unfolded`."""
        lives, progress = self._lives_here(), self._folded()
        is_new = (F.col("round") > progress.folded) | (F.col("time") > progress.until)
        events = self._events_here().where(F.col("time") <= until + window).withColumn("is_new", is_new)
        new = events.where(F.col("is_new") & (F.col("time") <= until))
        if new.isEmpty():
            return
        touched = _touched(new, lives).persist()
        try:
            for row in _histories(touched, events, lives).toLocalIterator():
                entity = _entity(row)
                yield History(entity, tuple(map(_event, row.events or ())), tuple(map(_life, row.lives or ())))
        finally:
            touched.unpersist()

    def mark_folded(self, until: int) -> None:
        """As `Ledger.mark_folded`."""
        newest = self._events_here().agg(F.max("round")).collect()[0][0]
        if newest is not None:
            self._set_folded(_Progress(newest, until))

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

    def lives_of(self, entity: EntityId) -> list[Life]:
        """All lives of one entity, by number."""
        mine = self._lives_here().where(F.col("entity") == str(entity))
        return [_life(row) for row in mine.orderBy("number").collect()]

    def conflicts(self) -> list[Life]:
        """The open lives that somebody else began earlier, as was told too late."""
        marked = F.col("ended").isNull() & (F.coalesce("conflict", F.lit("")) != "")
        return [_life(row) for row in self._lives_here().where(marked).orderBy("entity").collect()]

    def decided_until(self) -> tuple[int | None, int]:
        """The time of the newest event that is decided, and how many events are not decided yet."""
        progress = self._folded()
        decided = (F.col("round") <= progress.folded) & (F.col("time") <= progress.until)
        newest, waiting = F.max(F.when(decided, F.col("time"))), F.count_if(~decided)
        row = self._events_here().agg(newest.alias("newest"), waiting.alias("waiting")).collect()[0]
        return row.newest, row.waiting

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
        self._set_folded(_Progress())
        return len(known)

    def marks(self) -> dict[str, Mark]:
        """Which tables these are, and their versions."""
        tables = {"events": self._events, "ledger": self._lives}
        return {
            name: Mark(table.detail().collect()[0].id, table.history(1).collect()[0].version)
            for name, table in tables.items()
        }

    def _table(self, name: str, schema: str) -> DeltaTable:
        location = str(self._directory / name)
        if not DeltaTable.isDeltaTable(self._spark, location):
            DeltaTable.createIfNotExists(self._spark).location(location).addColumns(_struct(schema)).execute()
        table = DeltaTable.forPath(self._spark, location)
        known = set(table.toDF().columns)
        if lacking := [field for field in _struct(schema).fields if field.name not in known]:
            added = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in lacking)
            self._spark.sql(f"ALTER TABLE delta.`{location}` ADD COLUMNS ({added})")
            table = DeltaTable.forPath(self._spark, location)
        return table

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

    def _folded(self) -> _Progress:
        try:
            return msgspec.json.decode(self._progress.read_bytes(), type=_Progress)
        except FileNotFoundError:
            return _Progress()
        except (OSError, msgspec.DecodeError) as e:
            raise SyncError(
                f"`{self._progress}` can't be read ({type(e).__name__}); delete it to fold all again"
            ) from e

    def _set_folded(self, progress: _Progress) -> None:
        temporary = self._progress.with_suffix(".new")
        temporary.write_bytes(msgspec.json.encode(progress))
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

    Left out, because the fold would ignore them: events before the last decided life's beginning or end, but for new
    creations; and entities that exist, are decided and have neither such a creation nor a deletion.
    """
    columns = ("source", "id", "type", "parts", "kind", "strength", "user", "time", "requester", "is_new")
    event = F.struct(*columns).alias("event")
    own = events.join(touched.select("entity"), "entity").select("entity", event)
    t, d = touched.alias("t"), _deletions_above(events).alias("d")
    above = t.join(
        d,
        (F.col("t.entity") != F.col("d.entity"))
        & (F.col("t.namespace") == F.col("d.namespace"))
        & (F.col("d.application").isNull() | (F.col("t.application") == F.col("d.application"))),
    ).select(
        "t.entity",
        F.struct(*(f"d.{column}" for column in columns)).alias("event"),
    )
    mine = lives.join(touched.select("entity"), "entity", "left_semi")
    decided = F.col("state") != State.UNCONFIRMED.value
    known = mine.groupBy("entity").agg(
        F.collect_list(F.struct(*_names(LIVES))).alias("lives"),
        F.max(F.when(decided, F.coalesce("ended", "begun"))).alias("horizon"),
        F.bool_or(decided & F.col("ended").isNull()).alias("alive"),
        F.bool_or(~decided).alias("unconfirmed"),
    )
    deletes = F.col("event.kind") == Kind.DELETE.value
    too_late = F.col("event.is_new") & ~deletes & (F.col("event.time") < F.col("horizon"))
    after = (
        own.union(above)
        .join(known.select("entity", "horizon"), "entity", "left")
        .where(F.col("horizon").isNull() | (F.col("event.time") >= F.col("horizon")) | too_late)
        .groupBy("entity")
        .agg(
            F.collect_list("event").alias("events"),
            F.bool_or(deletes & F.coalesce(F.col("event.time") >= F.col("horizon"), F.lit(True))).alias("ends"),
            F.bool_or(too_late).alias("too_late"),
        )
    )
    no = F.lit(False)
    return (
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
        requester=row.requester or "",
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
        source=row.source or "",
        event=row.event or "",
        applied=tuple(row.applied or ()),
        merged=tuple(row.merged or ()),
        conflict=row.conflict or "",
        written=row.written or "",
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
        *(life.source, life.event, list(life.applied), list(life.merged), life.conflict, life.written),
    )
