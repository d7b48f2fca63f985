"""What `sync retry`, `sync assign` and `sync forget` make of lives."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.errors import InvalidInput, UnsafeGrant
from spark_sync.drift import RELEASED
from spark_sync.event import EntityEvent, Kind, Strength
from spark_sync.fold import FoldSettings, fold
from spark_sync.ledger import Change
from spark_sync.life import Life, State
from spark_sync.people import assign, forget, retry
from tests.spark_sync.drift_world import ALL, BEGUN, KV, RangerInMemory, changed, ours, push, row

NEVER = frozenset({"root"})
KNOWN, UNCONFIRMED = row(State.KNOWN, creator=None), row(State.UNCONFIRMED)
NOT_SENT = row(State.BLOCKED, creator="public", policy_id=-1, written="")


def told(lives: list[Life]) -> str:
    return ", ".join(f"{life.number} {life.state} {life.creator or '-'}" for life in lives)


def assigned(lives: list[Life], user: str = "bob") -> Change:
    return assign(KV, lives, user, ALL, non_creators=NEVER)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (row(State.FAILED), "pending alice"),
        (row(State.BLOCKED), "pending alice"),
        (row(State.PENDING), None),
        (row(State.APPLIED), None),
        (row(State.CLOSING), None),
        (row(State.CLOSED), None),
        (KNOWN, None),
        (UNCONFIRMED, None),
    ],
    ids=lambda value: str(value.state) if isinstance(value, Life) else "",
)
def test_retry(before: Life, after: str | None) -> None:
    life = retry(before)
    assert (f"{life.state} {life.creator}" if life else None) == after


def test_what_is_tried_anew_is_still_known_as_ours() -> None:
    life = retry(row(State.BLOCKED))
    assert life is not None
    assert (life.policy_id, life.applied, life.reason) == (-1, (), "")
    assert life.written == row(State.BLOCKED).written


def test_what_was_added_to_somebody_elses_policy_is_not_lost_by_a_retry() -> None:
    life = retry(row(State.BLOCKED, merged=("read",), policy_id=9))
    assert life is not None
    assert (life.state, life.merged, life.policy_id) == (State.PENDING, ("read",), 9)


def test_a_policy_deleted_by_hand_comes_back_by_a_retry_and_an_edited_one_stays_edited() -> None:
    life = retry(row(State.BLOCKED))
    assert life is not None
    deleted, edited = RangerInMemory([]), RangerInMemory([ours(isEnabled=False)])
    assert told(push([life], deleted)) == "1 applied alice"
    assert len(deleted.policies) == 1
    assert told(push([life], edited)) == "1 blocked alice"
    assert edited.policies[7] == ours(isEnabled=False)


ASSIGNED = {
    "known": ([KNOWN], "1 pending bob"),
    "known, of a non-creator": ([row(State.KNOWN, creator="root")], "1 pending bob"),
    "left to people": ([replace(KNOWN, creator="alice", reason=RELEASED)], "1 pending bob"),
    "unconfirmed": ([UNCONFIRMED], "1 pending bob"),
    "blocked, nothing sent": ([NOT_SENT], "1 pending bob"),
    "blocked, with a policy": ([row(State.BLOCKED)], "1 closing alice, 2 pending bob"),
    "blocked, his own": ([row(State.BLOCKED, creator="bob")], "1 pending bob"),
    "failed, his own": ([row(State.FAILED, creator="bob")], "1 pending bob"),
    "applied": ([row(State.APPLIED)], "1 closing alice, 2 pending bob"),
    "pending, perhaps sent": ([row(State.PENDING)], "1 closing alice, 2 pending bob"),
    "failed, perhaps sent": ([row(State.FAILED)], "1 closing alice, 2 pending bob"),
    "second life": (
        [row(State.CLOSED), row(State.APPLIED, number=2)],
        "1 closed alice, 2 closing alice, 3 pending bob",
    ),
}


@pytest.mark.parametrize(("lives", "after"), ASSIGNED.values(), ids=ASSIGNED)
def test_assign(lives: list[Life], after: str) -> None:
    assert told(changed(lives, [assigned(lives)])) == after


@pytest.mark.parametrize(
    ("lives", "user", "message"),
    [
        ([], "bob", "`dataset:ns1.kv` is not in the ledger; if it exists"),
        ([row(State.CLOSED)], "bob", "was deleted, says the ledger"),
        ([row(State.APPLIED)], "alice", "`alice` is the creator of `dataset:ns1.kv` already; his grant is applied"),
        ([row(State.PENDING)], "alice", "already; his grant is pending"),
    ],
    ids=["unknown", "deleted", "applied", "pending"],
)
def test_what_can_not_be_assigned(lives: list[Life], user: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        assigned(lives, user)


@pytest.mark.parametrize("user", ["", "public", "{USER}", "*", "a,b", "root", " bob"])
def test_whom_nothing_is_assigned_to(user: str) -> None:
    with pytest.raises(UnsafeGrant):
        assigned([KNOWN], user)


def test_nothing_is_assigned_where_the_profile_gives_nothing() -> None:
    with pytest.raises(InvalidInput, match="the profile gives the creator of"):
        assign(KV, [KNOWN], "bob", (), non_creators=NEVER)


def test_the_former_creator_loses_his_grant_before_the_next_one_gets_his() -> None:
    before = [row(State.APPLIED)]
    ranger = RangerInMemory([ours()])
    after = push(changed(before, [assigned(before)]), ranger)
    assert told(after) == "1 closed alice, 2 applied bob"
    assert {who for _, who, _ in ranger.holdings()} == {"bob"}


def test_the_next_creator_waits_while_the_former_ones_policy_can_not_be_taken_back() -> None:
    before, edited = [row(State.APPLIED)], ours(isEnabled=False)
    ranger = RangerInMemory([edited])
    after = push(changed(before, [assigned(before)]), ranger)
    assert told(after) == "1 closing alice, 2 pending bob"
    assert list(ranger.policies.values()) == [edited]


FORGOTTEN = {
    "known, of a non-creator": ([row(State.KNOWN, creator="root")], "1 known -"),
    "unconfirmed": ([UNCONFIRMED], "1 known -"),
    "blocked, nothing sent": ([NOT_SENT], "1 known -"),
    "blocked, with a policy": ([row(State.BLOCKED)], "1 closing alice, 2 known -"),
    "applied": ([row(State.APPLIED)], "1 closing alice, 2 known -"),
    "pending, perhaps sent": ([row(State.PENDING)], "1 closing alice, 2 known -"),
}


@pytest.mark.parametrize(("lives", "after"), FORGOTTEN.values(), ids=FORGOTTEN)
def test_forget(lives: list[Life], after: str) -> None:
    assert told(changed(lives, [forget(KV, lives)])) == after


@pytest.mark.parametrize(
    ("lives", "message"),
    [([], "is not in the ledger"), ([row(State.CLOSED)], "was deleted"), ([KNOWN], "has no creator already")],
    ids=["unknown", "deleted", "ownerless"],
)
def test_what_can_not_be_forgotten(lives: list[Life], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        forget(KV, lives)


OPEN = [state for state in State if state not in (State.CLOSING, State.CLOSED)]


@given(st.sampled_from(OPEN), st.booleans(), st.integers(BEGUN + 201, 10_000))
def test_what_a_person_decided_stands_until_the_entity_is_deleted(state: State, assigning: bool, time: int) -> None:
    """Also if that was before the person decided, and is told later; and whoever touches it gets nothing."""
    before = [row(state)]
    change = assigned(before) if assigning else forget(KV, before)
    lives = changed(before, [change])
    settings = FoldSettings(baseline=50, gives={"dataset": ALL})
    touched = EntityEvent(KV, Kind.CREATE, "mallory", time, "s", Strength.AUTHORITATIVE, "m")
    assert {life.creator for life in fold(KV, [touched], lives, settings)} == {life.creator for life in lives}
    deleted = replace(touched, kind=Kind.DELETE)
    assert not any(life.is_open for life in fold(KV, [deleted], lives, settings))
