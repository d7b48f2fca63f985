"""Dates in tag attributes, and the script conditions that compare them (ranger-semantics.md §8).

Ranger has two date formats; here they are in UTC. Java's parser also accepts other digits, exponents, signs and years
after 9999: such a date is unreadable here, so it never allows more.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Ranger replaces some words by code before it runs a script, also inside quotes.
_REPLACED = r"(?:GET|HAS|IS|TAG|UG|UR|USER)_[A-Z_]+\b"
_SCRIPT = re.compile(
    rf"\s*+ctx\s*+\.\s*+isAccessed(After|Before)\s*+\(\s*+(['\"])(?!{_REPLACED})(\w+)\2\s*+\)\s*+;?\s*+", re.ASCII
)

_NUMBER = r"[ \t]*+(\d++)"
# Text after the end of the format is ignored, but Java would read on in an unfinished number.
_FORMATS = tuple(
    re.compile(text.replace("#", _NUMBER), re.ASCII) for text in (r"#/#/#(?!E|[^\x00-\x7F])", r"#-#-#T#:#:#\.#Z")
)


class DateScript(NamedTuple):
    """Script condition on an access after, or else before, the date in an attribute of the tag."""

    attribute: str
    after: bool


def read_script(script: object) -> DateScript | None:
    """Parse a script; None unless it is a single call of `isAccessedAfter` or `isAccessedBefore`."""
    call = _SCRIPT.fullmatch(script) if isinstance(script, str) else None
    return DateScript(call[3], call[1] == "After") if call else None


def read_date(text: str) -> int | None:
    """Return a date in epoch milliseconds; None if unreadable."""
    found = next((m for form in _FORMATS if (m := form.match(text))), None)
    if found is None:
        return None
    try:
        year, month, day, hour, minute, second, millisecond = (*map(int, found.groups()), 0, 0, 0, 0)[:7]
        moment = datetime(year, month, day, hour, minute, second, millisecond * 1000, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return (moment - _EPOCH) // timedelta(milliseconds=1)
