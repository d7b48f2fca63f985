"""Whether the ledger is the one that the checkpoints go with: read events are never read again, so it must hold them.

After each run, the identity and version of the ledger's tables are written beside the checkpoints. A ledger that was
restored from a copy is older than that; one that was lost, and made anew, is another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from ranger_cdap.disk import replace_file
from ranger_cdap.errors import LedgerLost, SyncError, reason

CHECKPOINTS = "checkpoints"
"""The directory, in that of the state, with how far each source was read."""

NAME = "ledger.json"


class Mark(msgspec.Struct, frozen=True):
    """A table at one time: which one it is, and its version, which only grows."""

    id: str
    version: int


Marks = Mapping[str, Mark]


def verify(checkpoints: Path, now: Marks) -> None:
    """Nothing, if the ledger holds at least what it held after the last run with these checkpoints.

    Raises:
        LedgerLost: it is older, or another one.
        SyncError: the mark cannot be read.
    """
    path = checkpoints / NAME
    try:
        before = msgspec.json.decode(path.read_bytes(), type=dict[str, Mark])
    except FileNotFoundError:
        return
    except (OSError, msgspec.MsgspecError) as e:
        raise SyncError(f"`{path}` cannot be read ({type(e).__name__}); take a new baseline") from e
    for table, mark in before.items():
        found = now.get(table)
        if found is None or found.id != mark.id:
            raise LedgerLost(f"{_what(checkpoints)}: its table `{table}` is not the one of the last run; {_ADVICE}")
        if found.version < mark.version:
            raise LedgerLost(f"{_what(checkpoints)}: its table `{table}` is older than after the last run; {_ADVICE}")


def save(checkpoints: Path, now: Marks) -> None:
    """From now on the ledger must be at least this one.

    Raises:
        SyncError: the disk does not keep it.
    """
    path = checkpoints / NAME
    try:
        checkpoints.mkdir(parents=True, exist_ok=True)
        replace_file(path, [msgspec.json.encode(now)])
    except OSError as e:
        raise SyncError(f"`{path}` cannot be written: {reason(e)}") from e


_ADVICE = (
    "what was read since is not in it: take a new inventory, enter it with `ranger-cdap sync baseline`, then run "
    "`ranger-cdap sync reconcile --adopt`"
)


def _what(checkpoints: Path) -> str:
    return f"the ledger in `{checkpoints.parent}` does not go with its checkpoints"
