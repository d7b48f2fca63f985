"""What the ledger holds and how far behind it is, for `sync status`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ranger_cdap.config import Settings
from ranger_cdap.errors import SyncError, reason
from spark_sync.life import Life, State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The lives a person should look at.
WAITING = (State.UNCONFIRMED, State.PENDING, State.BLOCKED, State.FAILED, State.CLOSING)


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The state of the sync job at `now`; all times are epoch milliseconds.

    `counts`: lives in each state. `baseline`: when it was taken. `waiting`: lives that wait for something, and why.
    `newest`: the time of the newest event that is decided. `held_back`: events that are not decided yet. `conflicts`:
    open lives that somebody else began earlier, as was told too late. `dead_letters`: rejected lines, all of them.
    """

    now: int
    counts: Mapping[State, int]
    baseline: int | None
    waiting: tuple[Life, ...] = ()
    newest: int | None = None
    held_back: int = 0
    conflicts: tuple[Life, ...] = ()
    dead_letters: int = 0

    @property
    def lag(self) -> int | None:
        """How long ago the newest decided event happened; nothing before the first one."""
        return None if self.newest is None else max(0, self.now - self.newest)

    @property
    def oldest_pending(self) -> Life | None:
        """The grant that has waited longest to be sent."""
        pending = (life for life in self.waiting if life.state is State.PENDING)
        return min(pending, key=lambda life: life.begun, default=None)


def status(settings: Settings, spark: SparkSession, *, now: int) -> StatusReport:
    """What the ledger holds; only reads, so it may be asked while a run is going on.

    Raises:
        SyncError: Spark or the ledger failed.
    """
    from spark_sync.delta_ledger import DeltaLedger
    from spark_sync.job import DEAD_LETTERS
    from spark_sync.spark_errors import spark_errors

    with spark_errors():
        ledger = DeltaLedger(spark, settings.sync.state_dir, settings.cdap.instance)
        newest, held_back = ledger.decided_until()
        return StatusReport(
            now=now,
            counts=ledger.counts(),
            baseline=ledger.baseline(),
            waiting=tuple(ledger.lives(WAITING)),
            newest=newest,
            held_back=held_back,
            conflicts=tuple(ledger.conflicts()),
            dead_letters=_lines(settings.sync.state_dir / DEAD_LETTERS),
        )


def _lines(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return sum(1 for _ in file)
    except FileNotFoundError:
        return 0
    except OSError as e:
        raise SyncError(f"`{path}` can't be read: {reason(e)}") from e
