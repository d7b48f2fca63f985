"""When the ledger is due for maintenance, in a small file beside its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Final

DAY: Final = 86_400_000
LAST: Final = "upkeep"


def is_due(directory: Path, now: int) -> bool:
    """Return whether the last maintenance was more than a day ago; that of a new ledger is due after a day."""
    last = directory / LAST
    try:
        return int(last.read_text()) + DAY <= now
    except (OSError, ValueError):
        last.write_text(str(now))
        return False


def note_done(directory: Path, now: int) -> None:
    """Note the time of a maintenance."""
    (directory / LAST).write_text(str(now))
