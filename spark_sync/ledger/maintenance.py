"""Upkeep of the ledger's tables: small files are joined, old events and old versions go."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from spark_sync.ledger.life import State

DAY: Final = 86_400_000
LAST: Final = "upkeep"
_KEPT_HOURS: Final = 7 * 24.0
"""Versions younger than this stay, for whoever is reading one."""
_UNDECIDED: Final = (State.UNCONFIRMED, State.CONTESTED, State.SUSPENDED)
_KEY: Final = ("instance", "source", "id")


def is_due(directory: Path, now: int) -> bool:
    """Whether the last upkeep was more than a day ago; a new ledger gets its first after a day."""
    last = directory / LAST
    try:
        return int(last.read_text()) + DAY <= now
    except (OSError, ValueError):
        last.write_text(str(now))
        return False


def vacuum(spark: SparkSession, directory: Path, *, now: int, keep_days: int) -> None:
    """Forget events that are older than `keep_days` and decided, join small files, drop old versions.

    An event that comes again after it was forgotten changes nothing: lives stay, and with them the time up to which
    events count no more. What an undecided life rests on is kept, and what tells the versions of what exists: it ends
    with the last of them.
    """
    events = DeltaTable.forPath(spark, str(directory / "events"))
    lives = DeltaTable.forPath(spark, str(directory / "ledger")).toDF()
    undecided = lives.where(F.col("state").isin(*_UNDECIDED)).select("instance", "entity").distinct()
    existing = lives.where(F.col("ended").isNull()).select("instance", "entity").distinct()
    old = events.toDF().where(F.col("time") < now - keep_days * DAY)
    forgotten = old.join(undecided, ["instance", "entity"], "left_anti")
    versions = forgotten.where(F.col("version") != "").join(existing, ["instance", "entity"], "left_semi")
    gone = forgotten.select(*_KEY).join(versions.select(*_KEY), list(_KEY), "left_anti")
    if not gone.isEmpty():
        same = "known.instance = gone.instance AND known.source = gone.source AND known.id = gone.id"
        events.alias("known").merge(gone.alias("gone"), same).whenMatchedDelete().execute()
    for name in ("events", "ledger"):
        table = DeltaTable.forPath(spark, str(directory / name))
        table.optimize().executeCompaction()
        table.vacuum(_KEPT_HOURS)
    (directory / LAST).write_text(str(now))
