"""`DeltaLedger`: the ledger as Delta tables that people can query too: `events`, `ledger`, `baseline`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.errors import SyncError
from spark_sync.event import Kind
from spark_sync.fold import enter_known
from spark_sync.ledger import Change, History
from spark_sync.ledger_mark import Mark
from spark_sync.ledger_rows import (
    BASELINE,
    CHANGES,
    EVENTS,
    LIVES,
    changed,
    event_column,
    folded,
    life_column,
    names_of,
    read_life,
    struct_of,
    to_json,
)
from spark_sync.life import Life, State

_ROWS_A_PART = 20_000
_PLACE = ("entity", "type", "parts", "namespace", "application")


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

    def fold(self, decide: Callable[[History], Change | None], until: int, window: int) -> None:
        """As `Ledger.fold`; `decide` runs where Spark's executors are."""
        progress = self._folded()
        is_new = (F.col("round") > progress.folded) | (F.col("time") > progress.until)
        events = self._events_here().where(F.col("time") <= until + window).withColumn("is_new", is_new)
        with ExitStack() as kept:
            new = _kept(kept, events.where(F.col("is_new") & (F.col("time") <= until)).select(*_PLACE, "kind"))
            if new.isEmpty():
                return
            touched = _kept(kept, _touched(new, self._lives_here()))
            above = _kept(kept, _deletions_above(events))
            histories = _histories(touched, events, above, self._lives_here()).select(to_json(F.struct("*"))).rdd
            rows = histories.mapPartitions(partial(folded, decide, self._instance))
            self._write(self._spark.createDataFrame(rows, "row string", verifySchema=False))

    def mark_folded(self, until: int) -> None:
        """As `Ledger.mark_folded`."""
        newest = self._events_here().agg(F.max("round")).collect()[0][0]
        if newest is not None:
            self._set_folded(_Progress(newest, until))

    def record(self, changes: Iterable[Change]) -> None:
        """As `Ledger.record`."""
        rows = [row for change in changes for row in changed(self._instance, change)]
        if rows:
            # In small parts, because Spark's driver holds a task's whole part several times over.
            parts = self._spark.sparkContext.parallelize(rows, 1 + len(rows) // _ROWS_A_PART)
            self._write(self._spark.createDataFrame(parts, "row string", verifySchema=False))

    def lives(self, states: Collection[State]) -> list[Life]:
        """As `Ledger.lives`."""
        wanted = self._lives_here().where(F.col("state").isin(*(state.value for state in states)))
        return self._read(wanted.orderBy("entity", "number"))

    def lives_of(self, entity: EntityId) -> list[Life]:
        """All lives of one entity, by number."""
        mine = self._lives_here().where(F.col("entity") == str(entity))
        return self._read(mine.orderBy("number"))

    def conflicts(self) -> list[Life]:
        """The open lives that somebody else began earlier, as was told too late."""
        marked = F.col("ended").isNull() & (F.coalesce("conflict", F.lit("")) != "")
        return self._read(self._lives_here().where(marked).orderBy("entity"))

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
        for old in self._read(self._lives_here()):
            lives.setdefault(old.entity, []).append(old)
        found = sorted(set(entities))
        known = [life for entity in found if (life := enter_known(entity, lives.get(entity, ()), taken))]
        # First the time: killed here, an entity of the inventory is only folded as if it were not known yet once the
        # command is repeated, and creations up to that time count nothing already.
        taken_now = self._spark.createDataFrame([(self._instance, taken, len(found))], BASELINE)
        taken_now.write.format("delta").mode("append").save(str(self._directory / "baseline"))
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
            DeltaTable.createIfNotExists(self._spark).location(location).addColumns(struct_of(schema)).execute()
        table = DeltaTable.forPath(self._spark, location)
        known = set(table.toDF().columns)
        if lacking := [field for field in struct_of(schema).fields if field.name not in known]:
            added = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in lacking)
            self._spark.sql(f"ALTER TABLE delta.`{location}` ADD COLUMNS ({added})")
            table = DeltaTable.forPath(self._spark, location)
        return table

    def _write(self, rows: DataFrame) -> None:
        """Write rows of `ledger_rows.changed` in one step."""
        parsed = F.from_json("row", struct_of(CHANGES), {"mode": "FAILFAST"})
        columns: dict[str, str | Column] = {name: f"new.{name}" for name in names_of(LIVES)}
        # Kept, because a merge looks at its source more than once.
        new = rows.select(parsed.alias("life")).select("life.*").persist()
        try:
            if new.isEmpty():
                return
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
        finally:
            new.unpersist()

    def _read(self, lives: DataFrame) -> list[Life]:
        return [read_life(row) for row in lives.select(to_json(life_column())).collect()]

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


def _kept(kept: ExitStack, frame: DataFrame) -> DataFrame:
    """The frame, worked out once; a table that several parts of a plan look at is listed and read by each of them."""
    frame = frame.persist()
    kept.callback(frame.unpersist)
    return frame


def _touched(new: DataFrame, lives: DataFrame) -> DataFrame:
    """The entities that new events are about, and those known below a deleted namespace or application."""
    direct, ended = new.select(*_PLACE), _deletions_above(new)
    if not ended.isEmpty():
        known = lives.where(F.col("ended").isNull()).select(*_PLACE)
        below = known.join(
            ended.select(F.col("namespace").alias("in_namespace"), F.col("application").alias("in_application")),
            (F.col("namespace") == F.col("in_namespace"))
            & (F.col("in_application").isNull() | (F.col("application") == F.col("in_application"))),
            "left_semi",
        )
        direct = direct.union(below)
    return direct.dropDuplicates(["entity"])


def _deletions_above(events: DataFrame) -> DataFrame:
    return events.where((F.col("kind") == Kind.DELETE.value) & F.col("type").isin("namespace", "application"))


def _histories(touched: DataFrame, events: DataFrame, above: DataFrame, lives: DataFrame) -> DataFrame:
    """One row an entity whose lives may change, in the shape of `History`; `above`: deletions of what others are in.

    Left out, because the fold would ignore them: events before the last decided life's beginning or end, but for new
    creations; and entities that exist, are decided and have neither such a creation nor a deletion.
    """
    columns = ("source", "id", "type", "parts", "kind", "strength", "user", "time", "requester", "is_new")
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
