"""Repair of a spoiled ledger: its tables of what can be read, and what is lost is left to events and an inventory."""

from __future__ import annotations

import os

from ranger_cdap.config import Settings
from spark_sync.ledger.lease import lease
from spark_sync.ledger.ledger_version import note_versions
from spark_sync.ledger.salvage import Salvaged, salvage


def repair_ledger(settings: Settings, *, now: int) -> list[Salvaged]:
    """Make spoiled tables anew; `now` is in epoch milliseconds.

    If rows are lost on which grants depend, runs stop with `LedgerLost` until a baseline. If events are, the event
    files that are there are read again.

    Raises:
        LeaseHeld: a run is in progress.
        SyncError: a table cannot be written.
    """
    from spark_sync.ledger.delta_ledger import DeltaLedger

    with lease(settings.sync.state_dir):
        made = salvage(settings.sync.state_dir, now)
        ledger = DeltaLedger(settings.sync.state_dir, settings.cdap.instance)
        if any(each.table == "events" and each.lost for each in made):
            ledger.notes.forget_files(lambda path: os.path.lexists(path))
        if made and not any(each.lacks_facts for each in made):
            note_versions(ledger)
    return made
