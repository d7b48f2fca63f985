"""`DeltaLedger`: the ledger as Delta tables that can be queried directly: `events`, `ledger`, `baseline`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.disk import replace_file
from ranger_cdap.errors import SyncError, reason
from spark_sync.ledger.event import NEVER, EntityEvent, Stage
from spark_sync.ledger.fold import known_life
from spark_sync.ledger.grant_terms import BY_SETTINGS, GrantGroup
from spark_sync.ledger.histories import PLACE, affected_by, events_above, few_histories, histories
from spark_sync.ledger.ledger import Baseline, History, LedgerChange, Scope
from spark_sync.ledger.ledger_rows import (
    BASELINE,
    CHANGES,
    EVENTS,
    LIVES,
    change_rows,
    event_row,
    folded,
    life_column,
    names_of,
    read_life,
    struct_of,
    to_json,
)
from spark_sync.ledger.ledger_version import TableVersion
from spark_sync.ledger.life import Life, State

_ROWS_A_PART = 20_000
_FEW = 1_000
_group = msgspec.json.Decoder(GrantGroup)
_NO_VERSIONS: Mapping[EntityId, tuple[str, ...]] = {}
_NO_JOURNALS: Mapping[str, str] = {}


class _FoldProgress(msgspec.Struct, frozen=True):
    """Progress of the fold: the last folded round and time. Losing it costs only time, because folding is idempotent.

    Events of folded rounds at or after `until`, and checks received after `closed`, are folded again.
    """

    folded: int = 0
    until: int = 0
    closed: int = 0


class DeltaLedger:
    """`spark_sync.ledger.ledger.Ledger` in Delta tables below one directory; one writer at a time (see `lease`)."""

    def __init__(self, spark: SparkSession, directory: Path, instance: str, *, few: int = _FEW) -> None:
        """Args: few: up to this many new events are folded in the driver, which needs a third of Spark's plans."""
        self._spark = spark
        self._few = few
        self._directory = directory.absolute()
        self._instance = instance
        self._ids: dict[str, str] = {}
        self._events = self._table("events", EVENTS)
        self._lives = self._table("ledger", LIVES)
        self._baseline = self._table("baseline", BASELINE)

    def add_events(self, events: DataFrame) -> int:
        """Implement `Ledger.add_events`."""
        new = events.withColumn("round", F.lit(self._folded().folded + 1))
        merged = (
            self._events.alias("known")
            .merge(new.alias("new"), "known.source = new.source AND known.id = new.id")
            .whenNotMatchedInsertAll()
            .execute()
        )
        return int(merged.collect()[0]["num_inserted_rows"])

    def add_answers(self, events: Sequence[EntityEvent]) -> None:
        """Implement `Ledger.add_answers`."""
        if events:
            rows = [msgspec.json.encode(event_row(self._instance, event)).decode() for event in events]
            literals = F.explode(F.array(*map(F.lit, rows))).alias("row")
            parsed = self._spark.range(1).select(literals).select(F.from_json("row", struct_of(EVENTS)).alias("event"))
            self.add_events(parsed.select("event.*").drop("round"))

    def fold(self, decide: Callable[[History], LedgerChange | None]) -> None:
        """Implement `Ledger.fold`; `decide` runs where Spark's executors are."""
        progress = self._folded()
        received = F.coalesce("received", "time")
        # The latest of the times by which a source may be decided; rejected lines wait for nothing.
        latest = F.greatest(received, "time", "started", F.when(F.col("ended") < NEVER, F.col("ended")))
        waits = (latest >= progress.until) & (F.coalesce("stage", F.lit("")) != Stage.REJECTED.value)
        may_end = (F.col("stage") == Stage.CHECK.value) & (received > progress.closed)
        is_new = (F.col("round") > progress.folded) | waits | F.coalesce(may_end, F.lit(False))
        events = self._events_here().withColumn("is_new", is_new)
        new = events.where("is_new").select(*PLACE, "kind", F.coalesce("child", F.lit("")).alias("child"))
        first = new.limit(self._few + 1).collect()
        if not first:
            return
        few = few_histories(first, events, self._lives_here()) if len(first) <= self._few else None
        if few is not None:
            self.record(change for history in few if (change := decide(history)))
            return
        with ExitStack() as kept:
            touched = _persisted(kept, affected_by(_persisted(kept, new), events, self._lives_here()))
            above = _persisted(kept, events_above(events))
            found = histories(touched, events, above, self._lives_here()).select(to_json(F.struct("*"))).rdd
            rows = found.mapPartitions(partial(folded, decide, self._instance))
            # Persisted, because a merge reads its source more than once.
            changes = _persisted(kept, self._spark.createDataFrame(rows, "row string", verifySchema=False))
            if not changes.isEmpty():
                self._write(changes)

    def mark_folded(self, scope: Scope) -> None:
        """Implement `Ledger.mark_folded`."""
        folded = self._folded().folded
        # Rounds count up by one; only if the progress was lost do the events hold more of them.
        newest = folded + 1 if folded else self._events_here().agg(F.max("round")).collect()[0][0]
        if newest is not None:
            self._set_folded(_FoldProgress(newest, scope.decided, scope.closed))

    def record(self, changes: Iterable[LedgerChange]) -> None:
        """Implement `Ledger.record`."""
        rows = [row for change in changes for row in change_rows(self._instance, change)]
        if not rows:
            return
        if len(rows) <= self._few:
            # Literals of the plan need no Python worker.
            self._write(self._spark.range(1).select(F.explode(F.array(*(F.lit(row) for (row,) in rows))).alias("row")))
        else:
            # Small partitions, because Spark's driver holds several copies of a task's partition.
            parts = self._spark.sparkContext.parallelize(rows, 1 + len(rows) // _ROWS_A_PART)
            self._write(self._spark.createDataFrame(parts, "row string", verifySchema=False))

    def lives(self, states: Collection[State]) -> list[Life]:
        """Implement `Ledger.lives`."""
        wanted = self._lives_here().where(F.col("state").isin(*(state.value for state in states)))
        return self._read(wanted)

    def lives_of(self, entity: EntityId) -> list[Life]:
        """Return all lives of one entity, by number."""
        return self._read(self._lives_here().where(F.col("entity") == str(entity)))

    def conflicts(self) -> list[Life]:
        """Return the open lives for which a late event reported an earlier creation by another user."""
        marked = F.col("ended").isNull() & (F.coalesce("conflict", F.lit("")) != "")
        return self._read(self._lives_here().where(marked))

    def decided_until(self) -> tuple[int | None, int]:
        """Return the time of the newest decided event, and the number of undecided events."""
        progress = self._folded()
        decided = (F.col("round") <= progress.folded) & (F.col("time") <= progress.until)
        newest, waiting = F.max(F.when(decided, F.col("time"))), F.count_if(~decided)
        row = self._events_here().agg(newest.alias("newest"), waiting.alias("waiting")).collect()[0]
        return row.newest, row.waiting

    def grant_groups(self) -> list[tuple[GrantGroup, int]]:
        """Implement `Ledger.grant_groups`."""
        key = F.struct(
            "state",
            "type",
            F.coalesce("accesses", F.array()).alias("accesses"),
            "terms",
            F.col("creator").isNotNull().alias("has_creator"),
            ((F.col("policy_id") >= 0) & (F.size(F.coalesce("merged", F.array())) == 0)).alias("has_policy"),
            F.col("reason").isin(*BY_SETTINGS).alias("by_settings"),
        )
        rows = self._lives_here().groupBy(key.alias("key")).count().select(to_json(F.col("key")).alias("key"), "count")
        return [(_group.decode(row.key), row["count"]) for row in rows.collect()]

    def baseline(self) -> Baseline | None:
        """Implement `Ledger.baseline`."""
        newest = self._of_instance(self._baseline).orderBy(F.col("taken").desc()).limit(1).collect()
        return Baseline(newest[0].taken, newest[0].journals or {}) if newest else None

    def enter_baseline(
        self,
        taken: int,
        entities: Iterable[EntityId],
        versions: Mapping[EntityId, tuple[str, ...]] = _NO_VERSIONS,
        journals: Mapping[str, str] = _NO_JOURNALS,
    ) -> int:
        """Implement `Ledger.enter_baseline`."""
        lives: dict[EntityId, list[Life]] = {}
        for old in self._read(self._lives_here()):
            lives.setdefault(old.entity, []).append(old)
        found = sorted(set(entities))
        known = [
            life for entity in found if (life := known_life(entity, lives.get(entity, ()), taken, versions.get(entity)))
        ]
        # The time first: after a kill here, creations up to that time no longer count, and repeating the command
        # enters the entities.
        row = (self._instance, taken, len(found), dict(journals))
        self._spark.createDataFrame([row], BASELINE).write.format("delta").mode("append").save(
            str(self._directory / "baseline")
        )
        dropped = {
            life.entity: (life.number,)
            for life in known
            for life in lives.get(life.entity, ())
            if life.state is State.UNCONFIRMED
        }
        self.record([LedgerChange(life.entity, (life,), dropped.get(life.entity, ())) for life in known])
        self._set_folded(_FoldProgress())
        return len(known)

    def marks(self) -> dict[str, TableVersion]:
        """Return the ids and versions of the tables."""
        tables = {"events": self._events, "ledger": self._lives}
        for name in tables.keys() - self._ids.keys():
            self._ids[name] = tables[name].detail().collect()[0].id
        return {name: TableVersion(self._ids[name], self._version(name)) for name in tables}

    def _version(self, name: str) -> int:
        """Return the newest commit by its file name, which Delta's protocol fixes; Spark takes ten times as long."""
        log = self._directory / name / "_delta_log"
        return max(int(commit.stem) for commit in log.glob("*.json") if commit.stem.isdecimal())

    def _table(self, name: str, schema: str) -> DeltaTable:
        location = str(self._directory / name)
        if not DeltaTable.isDeltaTable(self._spark, location):
            DeltaTable.createIfNotExists(self._spark).location(location).addColumns(struct_of(schema)).execute()
        table = DeltaTable.forPath(self._spark, location)
        known = set(table.toDF().columns)
        if lacking := [field for field in struct_of(schema).fields if field.name not in known]:
            # Written by an earlier release: everything is folded once by the current rule.
            for progress in self._directory.glob("progress-*.json"):
                progress.unlink()
            added = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in lacking)
            self._spark.sql(f"ALTER TABLE delta.`{location}` ADD COLUMNS ({added})")
            table = DeltaTable.forPath(self._spark, location)
        return table

    def _write(self, rows: DataFrame) -> None:
        """Write rows of `ledger_rows.change_rows` in one step."""
        parsed = F.from_json("row", struct_of(CHANGES), {"mode": "FAILFAST"})
        columns: dict[str, str | Column] = {name: f"new.{name}" for name in names_of(LIVES)}
        new = rows.select(parsed.alias("life")).select("life.*")
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

    def _read(self, lives: DataFrame) -> list[Life]:
        """Return the lives, by entity and number."""
        few = lives.select(to_json(life_column())).limit(self._few + 1).collect()
        if len(few) <= self._few:
            # Sorted here: a sorting plan costs more than everything else.
            return sorted(map(read_life, few), key=lambda life: (str(life.entity), life.number))
        # By partition, so that Spark's driver never holds a whole back-fill.
        rows = lives.orderBy("entity", "number").select(to_json(life_column()))
        return [read_life(row) for row in rows.toLocalIterator()]

    def _of_instance(self, table: DeltaTable) -> DataFrame:
        return table.toDF().where(F.col("instance") == self._instance)

    def _events_here(self) -> DataFrame:
        return self._of_instance(self._events)

    def _lives_here(self) -> DataFrame:
        return self._of_instance(self._lives)

    @property
    def _progress(self) -> Path:
        return self._directory / f"progress-{self._instance}.json"

    def _folded(self) -> _FoldProgress:
        try:
            return msgspec.json.decode(self._progress.read_bytes(), type=_FoldProgress)
        except FileNotFoundError:
            return _FoldProgress()
        except (OSError, msgspec.DecodeError) as e:
            raise SyncError(
                f"`{self._progress}` cannot be read ({type(e).__name__}); delete it to fold all again"
            ) from e

    def _set_folded(self, progress: _FoldProgress) -> None:
        try:
            replace_file(self._progress, [msgspec.json.encode(progress)])
        except OSError as e:
            raise SyncError(f"`{self._progress}` cannot be written: {reason(e)}") from e


def _persisted(kept: ExitStack, frame: DataFrame) -> DataFrame:
    """Return the persisted frame, so that the parts of a plan list and read its tables only once."""
    frame = frame.persist()
    kept.callback(frame.unpersist)
    return frame
