"""Changes of a life by doubts and deletions: none forgets a grant that may be in Ranger, and none brings back one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import (
    DOUBTED_STATES,
    GRANTING_STATES,
    MANUAL_TERMS,
    PENDING_STATES,
    GrantTerms,
    Life,
    State,
)
from spark_sync.ledger.life_changes import contested, ended, restored

BEGUN: Final = Position(1, False, "test", "1")
LIVES = st.builds(
    lambda state, accesses, terms, revoke, policy_id: Life(
        EntityId("dataset", ("ns1", "kv")), 1, None if state is State.CONTESTED else "alice", BEGUN, state,
        former="alice" if state is State.CONTESTED else "", accesses=accesses, applied=accesses, terms=terms,
        revoke=revoke and state in DOUBTED_STATES, policy_id=policy_id,
    ),
    st.sampled_from([State.KNOWN, State.SUSPENDED, State.CONTESTED, *GRANTING_STATES]),
    st.sampled_from([(), ("read",), ("read", "write")]),
    st.sampled_from([None, MANUAL_TERMS, GrantTerms("owner"), GrantTerms("", delegate_admin=True)]),
    st.booleans(),
    st.sampled_from([-1, 7]),
)  # fmt: skip
CHANGES: Final[dict[str, Callable[[Life], Life]]] = {
    "contested": lambda life: contested(life, frozenset({"alice", "bob"}), ""),
    "restored": restored,
    "ended": lambda life: ended(life, Position(2, True, "test", "2"), recorded=True),
}


def may_be_in_ranger(life: Life) -> bool:
    return life.state in (*GRANTING_STATES, State.CLOSING) or life.revoke


def is_left_to_people(life: Life) -> bool:
    return life.terms == MANUAL_TERMS and not life.accesses


def is_not_forgotten(life: Life) -> bool:
    """A run has something to do for it, or it is in Ranger as the ledger says, or a person is asked."""
    doubted = life.state in DOUBTED_STATES and life.revoke
    return life.state in (*PENDING_STATES, State.APPLIED, State.BLOCKED) or doubted


@given(LIVES, st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=5))
def test_no_change_forgets_a_grant_that_may_be_in_ranger(life: Life, names: list[str]) -> None:
    for name in names:
        if not life.is_open:
            break
        after = CHANGES[name](life)
        if may_be_in_ranger(life) and not is_left_to_people(life):
            assert is_not_forgotten(after)
        life = after


@given(LIVES, st.sampled_from(DOUBTED_STATES))
def test_the_end_of_a_doubt_grants_nothing_that_was_not_granted_or_due_before(life: Life, doubt: State) -> None:
    doubted = replace(life, state=doubt, creator="alice", former="alice")
    after = restored(doubted)
    assert (after.accesses, after.holder) == (life.accesses, "alice")
    assert after.state is State.KNOWN or life.accesses or doubted.revoke


@given(LIVES, st.booleans())
def test_what_was_left_to_people_stays_theirs(life: Life, revoke: bool) -> None:
    left = replace(life, state=State.SUSPENDED, creator="alice", accesses=(), terms=MANUAL_TERMS, revoke=revoke)
    assert restored(left).state is State.KNOWN
