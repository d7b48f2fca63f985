"""Texts that stand for a date in a tag, or almost do, and what they mean (ranger-semantics.md §8)."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st


def at(moment: str) -> int:
    return int(datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp() * 1000)


DATES = [
    # the text, the moment it means; None where it cannot be read
    ("2026/11/22", "2026-11-22"),
    ("2026/1/2", "2026-01-02"),
    (" 2026/\t1/ 2", "2026-01-02"),
    ("2026/11/22 18:30:00", "2026-11-22"),  # what follows is ignored
    ("2026/11/22T18:30:00.000Z", "2026-11-22"),
    ("2024/02/29", "2024-02-29"),
    ("26/11/22", "0026-11-22"),
    ("1600/02/29", "1600-02-29"),
    ("2026/11/2e1", "2026-11-02"),
    ("9999/12/31", "9999-12-31"),
    ("2026-11-22T18:30:05.250Z", "2026-11-22T18:30:05.250"),
    ("2026-11-22T18:30:05.5Z", "2026-11-22T18:30:05.005"),
    ("2026-11-22T18:30:05.000Z and so on", "2026-11-22T18:30:05"),
    ("2026-11-22T0:0:0.0Z", "2026-11-22"),
    ("", None),
    ("   ", None),
    ("tomorrow", None),
    ("2026/11", None),
    ("2026-11-22", None),
    ("2026-11-22T18:30:05Z", None),
    ("2026-11-22T18:30:05.000", None),
    ("2026-11-22T18:30:05.000+01:00", None),
    ("2026-11-22T24:00:00.000Z", None),
    ("2026-11-22T18:30:05.1000Z", None),
    ("2026/13/01", None),
    ("2026/00/01", None),
    ("2026/02/29", None),
    ("2026 /11/22", None),
    ("\n2026/11/22", None),
    ("1795305600000", None),
    ("0000/01/01", None),
]

ONLY_JAVA_READS = [
    "2E3/11/22",
    "2026/11/2E1",
    "2026/11/2E",
    "2026/1E1/22",
    "2026/11/2\u0662",
    "\u0662\u0660\u0662\u0666/11/22",
    "2026-11-22T-0:00:00.000Z",
    "10000/01/01",
    "4294969322/11/22",
]
"""Dates after 1970 for Java alone: exponents, digits of other scripts, a sign, a year we do not have or Java cuts."""

_blanks = st.sampled_from(["", "", "", " ", "\t", "0"])
_days = st.builds(
    "{}{}/{}{}/{}{}".format, _blanks, st.integers(1969, 2060), _blanks, st.integers(0, 13), _blanks, st.integers(0, 32)
)
_times = st.builds(
    "T{}:{}{}:{}.{}Z".format, st.integers(0, 24), _blanks, st.integers(0, 60), st.integers(0, 60), st.integers(0, 1000)
)
date_texts = st.one_of(
    st.sampled_from([text for text, _ in DATES] + ONLY_JAVA_READS),
    st.text(max_size=12),
    st.builds(str.__add__, _days, st.text(max_size=3)),
    st.builds(lambda day, time, after: day.replace("/", "-") + time + after, _days, _times, st.text(max_size=3)),
)
