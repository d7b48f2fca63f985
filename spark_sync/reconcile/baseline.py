"""The baseline: an inventory of the entities that existed before the sync job; they are known and grant nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ranger_cdap.cdap.inventory import MARGIN, Inventory, read_inventory
from ranger_cdap.config import Settings
from ranger_cdap.errors import LedgerLost
from spark_sync.ledger.lease import lease
from spark_sync.ledger.ledger_version import note_versions, verify
from spark_sync.reconcile.lost_ledger import forget_undecided
from spark_sync.sources import service_watermarks
from spark_sync.sources.missing_files import check_files, gone_as_read


@dataclass(frozen=True, slots=True)
class BaselineReport:
    """Result of `sync baseline`: the number of entities in the inventory, and of those that became known by it."""

    taken: int
    entities: int
    became_known: int


def take_baseline(settings: Settings, path: Path, *, now: int) -> BaselineReport:
    """Enter the inventory of a file into the ledger; `now` is the time in epoch milliseconds.

    Raises:
        InvalidInput: the inventory is invalid; nothing was entered.
        SyncError: as `enter_baseline`.
    """
    return enter_baseline(settings, read_inventory(path, instance=settings.cdap.instance, now=now))


def enter_baseline(settings: Settings, inventory: Inventory) -> BaselineReport:
    """Enter an inventory into the ledger; it settles what a ledger that went back lacks.

    Raises:
        LeaseHeld: a run is in progress.
        SyncError: the ledger failed.
    """
    from spark_sync.ledger.delta_ledger import DeltaLedger

    state = settings.sync.state_dir
    with lease(state) as held:
        ledger = DeltaLedger(state, settings.cdap.instance)
        ledger.hold(held)
        marks = service_watermarks.read(settings.sync.sources)
        sources = service_watermarks.journalled_sources(settings.sync.sources)
        try:
            verify(ledger)
            for source in sources:
                check_files(source, marks.get(source.name), ledger.notes.files_read(source.name))
        except LedgerLost:
            forget_undecided(ledger)
        # Entities created after the listing, `MARGIN` after `taken`, and before a journal began would be unknown.
        journals = {name: mark.service for name, mark in marks.items() if mark.since <= inventory.taken + MARGIN}
        became_known = ledger.enter_baseline(inventory.taken, inventory.entities, inventory.versions, journals)
        for source in sources:
            if gone := gone_as_read(source, marks.get(source.name)):
                ledger.notes.add_files(source.name, [gone])
        note_versions(ledger)
    return BaselineReport(inventory.taken, len(inventory.entities), became_known)
