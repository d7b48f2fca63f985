"""Ids that the decision service and the sync job agree on, and that tell nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.telemetry import ids_of_check, ids_of_event
from spark_sync.cli.lives_text import line_of_event

STAMPS = st.integers(0, 2**128 - 1).map("{:032x}".format)
LINES = st.integers(0, 2**256 - 1).map("{:064x}".format)


@given(STAMPS, STAMPS)
def test_ids_are_valid_and_those_of_one_stamp_only(one: str, other: str) -> None:
    ids = ids_of_check(one)
    assert ids is not None
    assert 0 < ids.trace < 2**128
    assert 0 < ids.span < 2**64
    assert (ids_of_check(other) == ids) == (one == other)


@given(STAMPS)
def test_ids_show_no_part_of_the_stamp(stamp: str) -> None:
    ids = ids_of_check(stamp)
    assert ids is not None
    shown = f"{ids.trace:032x}{ids.span:016x}"
    # Eight digits in common by chance: once in a hundred million examples.
    assert not any(stamp[at : at + 8] in shown for at in range(25))


@given(LINES, STAMPS, st.sampled_from(["dataset:ns1.kv", "application:ns1.app@1.0"]))
def test_an_event_of_the_ledger_names_line_and_check(line: str, stamp: str, entity: str) -> None:
    event = f"{line}#create#{entity}#{stamp}"
    assert ids_of_event(event) == ids_of_check(stamp)
    assert line_of_event(event) == line


WITHOUT = [
    "",
    "by hand",
    "dataset:ns1.kv",
    "#",
    "0123456789abcdef0123456789abcdef#create#dataset:ns1.kv",
    "rejected-" + "0" * 64 + "#create#dataset:ns1.kv#alice",
    "0" * 64 + "\n#create#dataset:ns1.kv#" + "0" * 31 + "\n",
]


@pytest.mark.parametrize("event", WITHOUT)
def test_what_is_no_hash_is_not_shown(event: str) -> None:
    assert line_of_event(event) == ""
    assert ids_of_event(event) is None


@given(st.text())
def test_no_text_is_taken_for_more_than_it_is(text: str) -> None:
    line = line_of_event(text)
    assert not line or (len(line) == 64 and set(line) <= set("0123456789abcdef"))
