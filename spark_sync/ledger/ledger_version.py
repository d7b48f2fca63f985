"""Check that the ledger belongs to the checkpoints: events are read only once, so the ledger must hold them.

After each run, the ids and versions of the ledger's tables are written beside the checkpoints. A ledger restored from
a copy has older versions; one that was lost and created again has other ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from ranger_cdap.errors import LedgerLost, SyncError
from spark_sync.ledger.state_file import write_state

CHECKPOINTS = "checkpoints"
"""The directory below the state directory that records how far each source was read."""

NAME = "ledger.json"


class TableVersion(msgspec.Struct, frozen=True):
    """Id and version of a table at one time; the version only grows."""

    id: str
    version: int


TableVersions = Mapping[str, TableVersion]


def verify(checkpoints: Path, now: TableVersions) -> None:
    """Check that the ledger holds at least what it held after the last run with these checkpoints.

    Raises:
        LedgerLost: it is older, or another one.
        SyncError: the recorded versions cannot be read.
    """
    path = checkpoints / NAME
    try:
        before = msgspec.json.decode(path.read_bytes(), type=dict[str, TableVersion])
    except FileNotFoundError:
        return
    except (OSError, msgspec.MsgspecError) as e:
        raise SyncError(f"`{path}` cannot be read ({type(e).__name__}); take a new baseline") from e
    for table, mark in before.items():
        found = now.get(table)
        if found is None or found.id != mark.id:
            raise lost(f"{_what(checkpoints)}: its table `{table}` is not the one of the last run")
        if found.version < mark.version:
            raise lost(f"{_what(checkpoints)}: its table `{table}` is older than after the last run")


def save(checkpoints: Path, now: TableVersions) -> None:
    """Record the versions of the ledger, which later runs must find or exceed.

    Raises:
        SyncError: they cannot be written.
    """
    write_state(checkpoints / NAME, now)


def lost(how: str) -> LedgerLost:
    """Return the error about a ledger that lacks events, with the commands that settle it."""
    return LedgerLost(
        f"{how}: take a new inventory, enter it with `ranger-cdap sync baseline`, then run "
        "`ranger-cdap sync reconcile --adopt`"
    )


def _what(checkpoints: Path) -> str:
    return f"the ledger in `{checkpoints.parent}` does not match its checkpoints"
