"""Maintenance of the ledger's tables: compaction, and removal of old events and table versions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from spark_sync.ledger.life import UNDECIDED_STATES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY: Final = 86_400_000
LAST: Final = "upkeep"
_KEPT_HOURS: Final = 7 * 24.0
"""Table versions younger than this stay for their readers."""
_KEY: Final = ("instance", "source", "id")


def is_due(directory: Path, now: int) -> bool:
    """Return whether the last maintenance was more than a day ago; that of a new ledger is due after a day."""
    last = directory / LAST
    try:
        return int(last.read_text()) + DAY <= now
    except (OSError, ValueError):
        last.write_text(str(now))
        return False


def clean(spark: SparkSession, directory: Path, *, now: int, keep_days: int) -> None:
    """Delete decided events older than `keep_days`, compact small files, drop old table versions.

    An event read again after its deletion changes nothing: lives stay, and with them the time before which events no
    longer count. Kept are the events of undecided lives, and those that name the versions of an existing entity, which
    ends with its last version.
    """
    from delta.tables import DeltaTable
    from pyspark.sql import functions as F  # noqa: N812

    events = DeltaTable.forPath(spark, str(directory / "events"))
    lives = DeltaTable.forPath(spark, str(directory / "ledger")).toDF()
    undecided = lives.where(F.col("state").isin(*UNDECIDED_STATES)).select("instance", "entity").distinct()
    existing = lives.where(F.col("ended").isNull()).select("instance", "entity").distinct()
    old = events.toDF().where(F.col("time") < now - keep_days * DAY)
    forgotten = old.join(undecided, ["instance", "entity"], "left_anti")
    versions = forgotten.where(F.col("version") != "").join(existing, ["instance", "entity"], "left_semi")
    gone = forgotten.select(*_KEY).join(versions.select(*_KEY), list(_KEY), "left_anti")
    if not gone.isEmpty():
        same = "known.instance = gone.instance AND known.source = gone.source AND known.id = gone.id"
        events.alias("known").merge(gone.alias("gone"), same).whenMatchedDelete().execute()
    for name in ("events", "ledger", "changes"):
        table = DeltaTable.forPath(spark, str(directory / name))
        table.optimize().executeCompaction()
        table.vacuum(_KEPT_HOURS)
    (directory / LAST).write_text(str(now))
