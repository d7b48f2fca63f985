"""Names of audit files, as Ranger's HDFS destination has them by default: a folder for each day, in UTC. Pure.

Law: a path is below the directory it is relative to, and no two files have one path.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from ranger_cdap.audit.record import AGENT

RANDOM_DIGITS: Final = 12
"""Digits that end the number of a file; those before are the milliseconds since 1970 when it was begun."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class FileNumber(msgspec.Struct, frozen=True):
    """A file that is begun: its number, which no other has, and the host that began it."""

    number: str
    host: str

    @property
    def begun(self) -> datetime:
        """The time when it was begun."""
        return _EPOCH + timedelta(milliseconds=int(self.number[:-RANDOM_DIGITS]))

    @property
    def end(self) -> datetime:
        """The midnight at which it is complete."""
        return self.begun.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)

    @property
    def path(self) -> str:
        """The path it is published under; its number is before the ending, where Ranger puts `.1`, `.2` and so on."""
        return f"{AGENT}/{self.begun:%Y%m%d}/{AGENT}_ranger_audit_{self.host}.{self.number}.log"
