"""`sync run --trace`: where the time of a run went."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sync.run_trace import START, RunTrace

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["reading source a", "reading source a: 5 lines", "folding", "sending: 1 of 2", "sending"]),
        st.integers(0, 1_000_000),
        st.integers(0, 1_000_000),
    ),
    max_size=20,
)
ROW = re.compile(r"(?P<name>.+?) {2,}(?P<seconds>[\d.]+) +(?P<processor>[\d.]+) +(?P<share>[\d.]+)%")


def rows_of(table: str) -> dict[str, tuple[float, float]]:
    found = [ROW.fullmatch(line) for line in table.splitlines()[1:]]
    return {row["name"]: (float(row["seconds"]), float(row["processor"])) for row in found if row}


@given(steps=STEPS, before=st.integers(0, 1_000_000))
def test_every_moment_is_counted_in_the_stage_it_belongs_to(steps: list[tuple[str, int, int]], before: int) -> None:
    """In milliseconds, which the table shows exactly."""
    wall, processor, expected = 10_000, before, {START: [before, before]}
    clocks = [(wall, processor)]
    current = START
    for message, seconds, used in steps:
        expected[current][0] += seconds
        expected[current][1] += used
        wall, processor = wall + seconds, processor + used
        clocks.append((wall, processor))
        current = message.partition(":")[0]
        expected.setdefault(current, [0, 0])
    times: Iterator[tuple[int, int]] = iter(clocks)
    at = next(times)
    trace = RunTrace(clock=lambda: at[0] / 1000, processor=lambda: at[1] / 1000)
    for message, _, _ in steps:
        at = next(times)
        trace.progress(message)
    found = rows_of(trace.table())
    total = found.pop("total")
    assert list(found) == list(expected)
    assert list(found.values()) == [pytest.approx((a / 1000, b / 1000), abs=1e-3) for a, b in expected.values()]
    assert total == pytest.approx(tuple(sum(row[n] for row in found.values()) for n in (0, 1)), abs=1e-2)


def test_a_row_is_as_wide_as_the_longest_name_and_shares_are_of_the_total() -> None:
    times = iter([(0.0, 0.0), (1.0, 0.5), (4.0, 0.5)])
    at = next(times)
    trace = RunTrace(clock=lambda: at[0], processor=lambda: at[1])
    at = next(times)
    trace.progress("folding")
    at = next(times)
    lines = trace.table().splitlines()
    assert [line.split() for line in lines] == [
        ["stage", "seconds", "processor", "share"],
        ["start", "of", "the", "program", "1.000", "0.500", "25.0%"],
        ["folding", "3.000", "0.000", "75.0%"],
        ["total", "4.000", "0.500", "100.0%"],
    ]
    assert all(len(a) == len(b) for a, b in pairwise(lines))
