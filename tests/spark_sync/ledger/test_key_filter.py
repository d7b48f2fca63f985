"""A filter of keys may have every key that it was given, and hardly any other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.event import EntityEvent
from spark_sync.ledger.key_filter import KeyFilter
from tests.spark_sync.ledger.test_ledger_tables import SLOWLY, events_of_any_text, new_directory

KEYS = st.tuples(st.text(max_size=3), st.text(max_size=3))


@given(st.lists(KEYS), st.lists(KEYS), KEYS)
def test_a_filter_may_have_every_key_it_was_given(
    first: list[tuple[str, str]], later: list[tuple[str, str]], other: tuple[str, str]
) -> None:
    known = KeyFilter()
    assert known.may_have(other), "it does not know yet"
    known.fill(first)
    known.add(later)
    assert all(map(known.may_have, [*first, *later]))


def test_a_filter_has_few_keys_that_it_was_not_given() -> None:
    known = KeyFilter()
    known.fill(("audit", f"id{n}") for n in range(10_000))
    assert sum(known.may_have(("audit", f"other{n}")) for n in range(10_000)) < 20


@given(events=st.lists(events_of_any_text(), min_size=2, max_size=8, unique_by=lambda event: (event.source, event.id)))
@SLOWLY
def test_of_many_events_each_is_stored_once(events: list[EntityEvent]) -> None:
    with pytest.MonkeyPatch.context() as patch, new_directory() as directory:
        patch.setattr("spark_sync.ledger.delta_ledger.IDS_A_QUERY", 1)
        ledger = DeltaLedger(directory, "cdap")
        assert ledger.add_events([*events[1:], *events[1:]]) == len(events) - 1
        assert ledger.add_events([*events, *events]) == 1
        assert ledger.add_events(events) == 0
