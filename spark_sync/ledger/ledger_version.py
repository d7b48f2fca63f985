"""Check that the tables of a ledger belong together: events are read only once, so the ledger must hold them.

After each run the ids and versions of the tables are noted. A table restored from a copy has an older version; one that
was lost and created again has another id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from ranger_cdap.errors import LedgerLost

if TYPE_CHECKING:
    from spark_sync.ledger.delta_ledger import DeltaLedger

VERSIONS: Final = "versions"
"""The note of them."""


class TableVersion(msgspec.Struct, frozen=True):
    """Id and version of a table at one time; the version only grows."""

    id: str
    version: int


TableVersions = Mapping[str, TableVersion]


def verify(ledger: DeltaLedger, *, noting: bool = False) -> TableVersions:
    """Check that each table holds at least what it held after the last run; return the present versions.

    `noting`: as by `note_versions`.

    Raises:
        LedgerLost: one is older, or another one.
        SyncError: the ledger cannot be read, or written.
    """
    now, before = ledger.marks(), ledger.notes.read(VERSIONS, dict[str, TableVersion])
    if before is None and any(mark.version for mark in now.values()):
        raise lost(f"table `notes` of the ledger in `{ledger.directory}` is not the one of the last run")
    for table, mark in (before or {}).items():
        found = now.get(table)
        if found is None or found.id != mark.id:
            raise lost(f"table `{table}` of the ledger in `{ledger.directory}` is not the one of the last run")
        if found.version < mark.version:
            raise lost(f"table `{table}` of the ledger in `{ledger.directory}` is older than after the last run")
    if noting and now != before:
        ledger.notes.write(VERSIONS, now)
    return now


def note_versions(ledger: DeltaLedger) -> None:
    """Note the versions of the tables, which later runs must find or exceed.

    Raises:
        SyncError: they cannot be written.
    """
    now = ledger.marks()
    if now != ledger.notes.read(VERSIONS, dict[str, TableVersion]):
        ledger.notes.write(VERSIONS, now)


def lost(how: str) -> LedgerLost:
    """Return the error about a ledger that lacks events, with the commands that settle it."""
    return LedgerLost(
        f"{how}: take a new inventory, enter it with `ranger-cdap sync baseline`, then run "
        "`ranger-cdap sync reconcile --adopt`"
    )
