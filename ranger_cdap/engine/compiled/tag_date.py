"""Dates in the attributes of tags, and Ranger's scripts that ask for them (ranger-semantics.md §8).

Ranger knows two formats of dates; here they are UTC. Java's parser also takes other digits, exponents, signs and years
after 9999: such a date is unreadable here, so that it never allows more.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Ranger puts code in the place of some words before it runs a script, also between quotes.
_REPLACED = r"(?:GET|HAS|IS|TAG|UG|UR|USER)_[A-Z_]+\b"
_SCRIPT = re.compile(
    rf"\s*+ctx\s*+\.\s*+isAccessed(After|Before)\s*+\(\s*+(['\"])(?!{_REPLACED})(\w+)\2\s*+\)\s*+;?\s*+", re.ASCII
)

_NUMBER = r"[ \t]*+(\d++)"
# Only what is before the end of the format counts, but Java would read on where a number is not over.
_FORMATS = tuple(
    re.compile(text.replace("#", _NUMBER), re.ASCII) for text in (r"#/#/#(?!E|[^\x00-\x7F])", r"#-#-#T#:#:#\.#Z")
)


class DateScript(NamedTuple):
    """A script that asks whether the access comes after, or else before, the date in an attribute of the tag."""

    attribute: str
    after: bool


def read_script(script: object) -> DateScript | None:
    """The script, where it is one call that asks for nothing else; None for any other."""
    call = _SCRIPT.fullmatch(script) if isinstance(script, str) else None
    return DateScript(call[3], call[1] == "After") if call else None


def read_date(text: str) -> int | None:
    """The date as epoch milliseconds; None where it cannot be read."""
    found = next((m for form in _FORMATS if (m := form.match(text))), None)
    if found is None:
        return None
    try:
        year, month, day, hour, minute, second, millisecond = (*map(int, found.groups()), 0, 0, 0, 0)[:7]
        moment = datetime(year, month, day, hour, minute, second, millisecond * 1000, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return (moment - _EPOCH) // timedelta(milliseconds=1)
