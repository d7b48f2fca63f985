"""What a run changed, kept small: each life comes back as it was, in its order, and is in the list it belongs in."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sync import changed_lives
from spark_sync.changed_lives import ChangedLives, PackedLives
from spark_sync.grants.plan import NoOp
from spark_sync.grants.writer import StepOutcome
from spark_sync.ledger.life import RIGHTS_LEFT, Life, State
from tests.spark_sync.grants.fixtures import datasets, life
from tests.spark_sync.ledger.test_ledger_tables import lives_of_any_text


@given(lives=st.lists(lives_of_any_text(), max_size=9), packed=st.integers(1, 4))
@settings(max_examples=100)
def test_lives_come_back_as_they_were_in_their_order(lives: list[Life], packed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changed_lives, "_PACKED", packed)
        found = PackedLives()
        found.extend(lives)

        assert (list(found), len(found), bool(found)) == (lives, len(lives), bool(lives))
        assert list(found) == lives, "and again"
        assert all(one in found for one in lives)


def test_many_lives_are_a_tenth_of_what_a_list_would_be() -> None:
    sizes = []
    for kept in (list[Life](), PackedLives()):
        tracemalloc.start()
        for one in datasets(20_000):
            kept.append(replace(one, event=f"{one.entity}")) if isinstance(kept, list) else kept.extend([one])
        sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert sizes[1] < sizes[0] / 10, sizes


@pytest.mark.parametrize(
    ("state", "reason", "revoked", "where"),
    [
        (State.APPLIED, "", False, ["granted"]),
        (State.CLOSED, "", True, ["revoked"]),
        (State.CLOSED, "", False, []),
        (State.CLOSED, "policy 7 has no items left", True, ["revoked", "waiting"]),
        (State.CLOSED, f"{RIGHTS_LEFT}: bob", True, ["revoked"]),  # each run lists those
        (State.BLOCKED, "the user is unknown", False, []),  # and those
        (State.KNOWN, "no access", True, ["revoked"]),
        (State.PENDING, "the user is unknown", False, ["waiting"]),
        (State.CLOSING, "refused", False, ["waiting"]),
        (State.FAILED, "refused", False, ["waiting"]),
        (State.CONTESTED, "", True, ["revoked", "waiting"]),
        (State.SUSPENDED, "", False, ["waiting"]),
    ],
)
def test_what_a_step_changed(state: State, reason: str, revoked: bool, where: list[str]) -> None:
    before, found = life(), ChangedLives()
    after = replace(before, state=state, reason=reason)
    found.add(StepOutcome(NoOp(before, after), after, revoked=revoked))

    lists = {"granted": found.granted, "revoked": found.revoked, "waiting": found.waiting}
    assert [name for name, lives in lists.items() if lives] == where
    assert list(found.revoked) == ([before] if revoked else [])
    assert list(found.waiting) == ([after] if "waiting" in where else [])
