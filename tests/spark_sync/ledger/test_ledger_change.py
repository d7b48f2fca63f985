"""What a row of the ledger's changes says: which of ledger and Ranger is right, and what differs between lives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_sync.ledger.ledger import LedgerChange, Right, differences
from spark_sync.ledger.life import PUSH_STATES, State
from tests.spark_sync.grants.fixtures import life

BEFORE = life()
SENT = (State.PENDING, State.FAILED, State.CLOSING)


@pytest.mark.parametrize("revoke", [False, True])
@pytest.mark.parametrize("state", State)
def test_the_ledger_is_right_exactly_where_the_next_push_sends_something(state: State, revoke: bool) -> None:
    after = life(state=state, revoke=revoke and state in PUSH_STATES)
    right = Right.LEDGER if state in SENT or after.revoke else Right.RANGER
    assert LedgerChange(BEFORE, after).right is right


def test_a_dropped_row_names_its_life_and_sends_nothing() -> None:
    change = LedgerChange(BEFORE, None)
    assert (change.life, change.right) == (BEFORE, Right.RANGER)


def test_only_lives_that_differ_are_changes() -> None:
    other, new = replace(BEFORE, number=2), replace(BEFORE, number=3)
    applied = replace(BEFORE, state=State.APPLIED)
    assert differences([BEFORE, other], [BEFORE, other]) == []
    assert differences([BEFORE, other], [applied, new]) == [
        LedgerChange(BEFORE, applied),
        LedgerChange(other, None),
        LedgerChange(None, new),
    ]
