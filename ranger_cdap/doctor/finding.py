"""The result of a check of the doctor, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

AS_SYNC: Final = "run this as the user of the sync job as well"
SETUP: Final = "run `ranger-cdap setup`"


class Health(StrEnum):
    """Result of a check; only `FAILED` makes the command fail."""

    WELL = "well"
    NOTE = "note"
    FAILED = "failed"
    SKIPPED = "not checked"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: its name, its health, what was found, and what to do."""

    check: str
    health: Health
    seen: str
    advice: str = ""


def well(check: str, seen: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(check, Health.WELL, seen)


def note(check: str, seen: str, advice: str) -> Finding:
    """Return a finding that works, but deserves attention."""
    return Finding(check, Health.NOTE, seen, advice)


def failed(check: str, seen: str, advice: str) -> Finding:
    """Return a finding that does not work, or is not secure."""
    return Finding(check, Health.FAILED, seen, advice)


def skipped(check: str, seen: str) -> Finding:
    """Return a finding of a check that could not run, for a reason outside of it."""
    return Finding(check, Health.SKIPPED, seen)
