"""Dates in the attributes of tags: the two formats that Ranger reads, in UTC (policy-engine.md, 8).

Java's parser also takes other digits, exponents, signs and years after 9999; such a date is unreadable here, so that it
never allows more.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_NUMBER = r"[ \t]*+(\d++)"
# Only what is before the end of the format counts, but Java would read on where a number is not over.
_FORMATS = tuple(
    re.compile(text.replace("#", _NUMBER), re.ASCII) for text in (r"#/#/#(?!E|[^\x00-\x7F])", r"#-#-#T#:#:#\.#Z")
)


def read_date(text: str) -> int | None:
    """The date as epoch milliseconds; None where it can't be read."""
    found = next((m for form in _FORMATS if (m := form.match(text))), None)
    if found is None:
        return None
    try:
        year, month, day, hour, minute, second, millisecond = (*map(int, found.groups()), 0, 0, 0, 0)[:7]
        moment = datetime(year, month, day, hour, minute, second, millisecond * 1000, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return (moment - _EPOCH) // timedelta(milliseconds=1)
