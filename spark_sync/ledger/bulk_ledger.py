"""`BulkLedger`: what is done with many rows of the ledger at once, on Spark.

`changes` is merged into `ledger` before anything else, so that Spark reads and writes one table of lives.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from spark_sync.ledger.event import NEVER, Stage
from spark_sync.ledger.histories import affected_by, events_above, histories
from spark_sync.ledger.ledger import History, LedgerChange
from spark_sync.ledger.ledger_rows import CHANGES, LIVES, PLACE
from spark_sync.ledger.maintenance import clean
from spark_sync.ledger.spark_rows import folded, struct_of, to_json

if TYPE_CHECKING:
    from spark_sync.ledger.fold_progress import FoldProgress

_KEY = ("instance", "entity", "number")


@dataclass(frozen=True, slots=True)
class BulkLedger:
    """The tables of a `DeltaLedger` in a Spark session; under its lease."""

    spark: SparkSession
    directory: Path
    instance: str

    def add_events(self, events: DataFrame, round_: int) -> int:
        """Store the events whose (source, id) is new under the number of a round, and return how many."""
        new = events.withColumn("round", F.lit(round_))
        merged = (
            self._table("events")
            .alias("known")
            .merge(new.alias("new"), "known.source = new.source AND known.id = new.id")
            .whenNotMatchedInsertAll()
            .execute()
        )
        return int(merged.collect()[0]["num_inserted_rows"])

    def fold(self, decide: Callable[[History], LedgerChange | None], progress: FoldProgress) -> None:
        """Apply `decide`, on the executors, to each entity with events beyond that progress, and write the lives."""
        self.merge_changes()
        events = self._here("events").withColumn("is_new", _is_new(progress))
        lives = self._here("ledger")
        new = events.where("is_new").select(*PLACE, "kind", F.coalesce("child", F.lit("")).alias("child"))
        with ExitStack() as kept:
            touched = _persisted(kept, affected_by(_persisted(kept, new), events, lives))
            above = _persisted(kept, events_above(events))
            found = histories(touched, events, above, lives).select(to_json(F.struct("*"))).rdd
            rows = found.mapPartitions(partial(folded, decide, self.instance))
            # Persisted, because a merge reads its source more than once.
            changes = _persisted(kept, self.spark.createDataFrame(rows, "row string", verifySchema=False))
            if not changes.isEmpty():
                parsed = F.from_json("row", struct_of(CHANGES), {"mode": "FAILFAST"})
                self._merge(changes.select(parsed.alias("life")).select("life.*"))

    def merge_changes(self) -> None:
        """Merge the changed lives into `ledger`; a kill in between leaves them in both, where they agree."""
        changes = self._table("changes")
        of_key = Window.partitionBy(*_KEY).orderBy(F.col("sequence").desc())
        newest = changes.toDF().withColumn("place", F.row_number().over(of_key)).where("place = 1").drop("place")
        if not newest.isEmpty():
            self._merge(newest)
            changes.delete()

    def maintain(self, *, now: int, keep_days: int) -> None:
        """Merge changed lives, delete old decided events, compact the tables (see `maintenance.clean`)."""
        self.merge_changes()
        clean(self.spark, self.directory, now=now, keep_days=keep_days)

    def _merge(self, new: DataFrame) -> None:
        columns: dict[str, str | Column] = {name: f"new.{name}" for name in LIVES.names}
        (
            self._table("ledger")
            .alias("known")
            .merge(new.alias("new"), " AND ".join(f"known.{name} = new.{name}" for name in _KEY))
            .whenMatchedDelete("new.dropped")
            .whenMatchedUpdate(set=columns)
            .whenNotMatchedInsert("NOT new.dropped", values=columns)
            .execute()
        )

    def _table(self, name: str) -> DeltaTable:
        return DeltaTable.forPath(self.spark, str(self.directory / name))

    def _here(self, name: str) -> DataFrame:
        return self._table(name).toDF().where(F.col("instance") == self.instance)


def _is_new(progress: FoldProgress) -> Column:
    """Return whether an event is to be folded, as `ledger_queries` states it in SQL."""
    received = F.coalesce("received", "time")
    latest = F.greatest(received, "time", "started", F.when(F.col("ended") < NEVER, F.col("ended")))
    waits = (latest >= progress.scope.decided) & (F.coalesce("stage", F.lit("")) != Stage.REJECTED.value)
    may_end = (F.col("stage") == Stage.CHECK.value) & (received > progress.scope.closed)
    return (F.col("round") > progress.folded) | waits | F.coalesce(may_end, F.lit(False))


def _persisted(kept: ExitStack, frame: DataFrame) -> DataFrame:
    """Return the persisted frame, so that the parts of a plan list and read its tables only once."""
    frame = frame.persist()
    kept.callback(frame.unpersist)
    return frame
