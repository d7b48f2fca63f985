"""Durations as text."""

from __future__ import annotations


def format_duration(seconds: float) -> str:
    """Return a duration in one or two words, rounded down."""
    whole = max(0, int(seconds))
    for length, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if whole >= 2 * length:
            return f"{whole // length} {unit}"
    return f"{whole} s"
