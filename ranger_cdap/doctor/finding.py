"""What the doctor says: one check, how it came out, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """How a check came out; only `FAILED` makes the whole fail."""

    WELL = "well"
    NOTE = "note"
    FAILED = "failed"
    SKIPPED = "not checked"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: its name, how it came out, what was seen, and what to do."""

    check: str
    health: Health
    seen: str
    advice: str = ""


def well(check: str, seen: str) -> Finding:
    """Nothing to do."""
    return Finding(check, Health.WELL, seen)


def note(check: str, seen: str, advice: str) -> Finding:
    """It works, and somebody should know."""
    return Finding(check, Health.NOTE, seen, advice)


def failed(check: str, seen: str, advice: str) -> Finding:
    """It does not work, or is not safe."""
    return Finding(check, Health.FAILED, seen, advice)


def skipped(check: str, seen: str) -> Finding:
    """It could not be looked at, because of something else."""
    return Finding(check, Health.SKIPPED, seen)
