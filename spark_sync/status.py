"""What the ledger holds, for `sync status`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ranger_cdap.config import Settings
from spark_sync.life import Life, State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The lives a person should look at.
WAITING = (State.UNCONFIRMED, State.PENDING, State.BLOCKED, State.FAILED, State.CLOSING)


@dataclass(frozen=True, slots=True)
class StatusReport:
    """How many lives are in each state, when the baseline was taken (epoch milliseconds), and what waits and why."""

    counts: Mapping[State, int]
    baseline: int | None
    waiting: tuple[Life, ...]


def status(settings: Settings, spark: SparkSession) -> StatusReport:
    """What the ledger holds; only reads, so it may be asked while a run is going on.

    Raises:
        SyncError: Spark or the ledger failed.
    """
    from spark_sync.delta_ledger import DeltaLedger
    from spark_sync.job import spark_errors

    with spark_errors():
        ledger = DeltaLedger(spark, settings.sync.state_dir, settings.cdap.instance)
        return StatusReport(ledger.counts(), ledger.baseline(), tuple(ledger.lives(WAITING)))
