"""What `sync retry`, `sync assign` and `sync forget` make of lives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.errors import InvalidInput, UnsafeGrant
from spark_sync.grants.grant_policy import content_of
from spark_sync.ledger.event import ChangeKind, EntityEvent, Outcome, Stage
from spark_sync.ledger.fold import fold
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import MANUAL, Life, State
from spark_sync.reconcile.drift import RELEASED
from spark_sync.reconcile.overrides import assign, forget, is_doubted, retry
from tests.spark_sync.grants.fixtures import item
from tests.spark_sync.reconcile.drift_fixtures import ALL, BEGUN, KV, RangerInMemory, changed, ours, push, row

NEVER = frozenset({"root"})
KNOWN, UNCONFIRMED = row(State.KNOWN, creator=None), row(State.UNCONFIRMED)
NOT_SENT = row(State.BLOCKED, creator="public", policy_id=-1, written="")


def told(lives: list[Life]) -> str:
    return ", ".join(f"{life.number} {life.state} {life.creator or '-'}" for life in lives)


DECIDED = 1_000
"""When people decide: events before it are decided."""

CONTESTED = row(State.CONTESTED, creator=None, candidates=("alice", "bob"))
REVOKED = row(State.CONTESTED, creator=None, candidates=("alice", "bob"), former="alice")
TO_REVOKE = row(
    State.CONTESTED, creator=None, candidates=("alice", "bob"), former="alice", revoke=True,
    written=content_of(ours()), policy_id=7, policy_version=3, accesses=ALL, applied=ALL,
)  # fmt: skip
SUSPENDED = row(State.SUSPENDED, policy_id=-1, policy_version=-1, written="", applied=())
TO_SUSPEND = row(State.SUSPENDED, revoke=True)


def assigned(lives: list[Life], user: str = "bob", **more: bool) -> list[LedgerChange]:
    return assign(KV, lives, user, ALL, non_creators=NEVER, decided=DECIDED, **more)


def forgotten(lives: list[Life]) -> list[LedgerChange]:
    return forget(KV, lives, decided=DECIDED)


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


def test_a_retry_gives_what_a_person_took_by_another_policy_and_leaves_theirs() -> None:
    life = retry(row(State.BLOCKED, taken="taken: `admin` disabled policy 7"))
    assert life is not None
    assert (life.taken, life.copy) == ("", 1)
    for left in ([], [ours(is_enabled=False)]):
        ranger = RangerInMemory(left)
        assert told(push([life], ranger)) == "1 applied alice"
        assert ranger.holdings() == RangerInMemory([ours()]).holdings()
        assert [ranger.policies[policy.id] for policy in left] == left


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
    "contested": ([CONTESTED], "1 pending bob"),
    "contested, its grant was revoked": ([REVOKED], "1 pending bob"),
    "contested, its grant is to be revoked": ([TO_REVOKE], "1 closing -, 2 pending bob"),
    "second life": (
        [row(State.CLOSED), row(State.APPLIED, number=2)],
        "1 closed alice, 2 closing alice, 3 pending bob",
    ),
}


@pytest.mark.parametrize(("lives", "after"), ASSIGNED.values(), ids=ASSIGNED)
def test_assign(lives: list[Life], after: str) -> None:
    assert told(changed(lives, assigned(lives))) == after


@pytest.mark.parametrize(
    ("lives", "user", "message"),
    [
        ([], "bob", "`dataset:ns1.kv` is not in the ledger; if it exists"),
        ([row(State.CLOSED)], "bob", "was deleted according to the ledger"),
        ([row(State.APPLIED)], "alice", "`alice` is the creator of `dataset:ns1.kv` already; their grant is applied"),
        ([row(State.PENDING)], "alice", "already; their grant is pending"),
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
    with pytest.raises(InvalidInput, match="the profile grants the creator of"):
        assign(KV, [KNOWN], "bob", (), non_creators=NEVER, decided=DECIDED)


def test_the_former_creator_loses_his_grant_before_the_next_one_gets_his() -> None:
    before = [row(State.APPLIED)]
    ranger = RangerInMemory([ours()])
    after = push(changed(before, assigned(before)), ranger)
    assert told(after) == "1 closed alice, 2 applied bob"
    assert {who for _, who, _ in ranger.holdings()} == {"bob"}


def test_the_next_creator_does_not_wait_for_what_people_edited() -> None:
    before = [row(State.APPLIED)]
    ranger = RangerInMemory([ours(policy_items=[*ours().policy_items, item("carol", "read")])])
    after = push(changed(before, assigned(before)), ranger)
    assert told(after).startswith("1 closed alice")
    assert told(after).endswith("2 applied bob")
    held = {(who, access) for _, who, access in ranger.holdings()}
    assert held == {("carol", "read"), *(("bob", access) for access in ALL)}


DOUBTED = {
    "contested": CONTESTED,
    "contested, revoked": REVOKED,
    "contested, to be revoked": TO_REVOKE,
    "suspended": SUSPENDED,
    "suspended, to be revoked": TO_SUSPEND,
}
CANDIDATES = {"contested": {"alice", "bob"}, "suspended": {"alice"}}


@pytest.mark.parametrize("life", DOUBTED.values(), ids=DOUBTED)
@pytest.mark.parametrize("user", ["alice", "bob", "mallory"])
def test_a_doubted_life_is_assigned_to_a_candidate_only_unless_to_anyone(life: Life, user: str) -> None:
    if user not in CANDIDATES[life.state]:
        with pytest.raises(InvalidInput, match=rf"`{user}` is not a candidate .* \(candidates: `alice`.*use --anyone"):
            assigned([life], user)
    else:
        assert assigned([life], user) == assigned([life], user, anyone=True)
    after = changed([life], assigned([life], user, anyone=True))
    assert (after[-1].creator, after[-1].state, after[-1].source) == (user, State.PENDING, MANUAL)
    assert (after[-1].candidates, after[-1].former, after[-1].revoke) == ((), "", False)


def test_a_contested_life_without_candidates_is_assigned_to_anyone_only_when_told_so() -> None:
    nobody = replace(CONTESTED, candidates=())
    with pytest.raises(InvalidInput, match="none are known"):
        assigned([nobody], "alice")
    assert told(changed([nobody], assigned([nobody], "alice", anyone=True))) == "1 pending alice"


@pytest.mark.parametrize("life", [TO_REVOKE, TO_SUSPEND], ids=["contested", "suspended"])
def test_who_had_the_grant_keeps_the_policy_and_anyone_else_gets_another(life: Life) -> None:
    """A run may have been killed between its decision and the revocation: the policy is still there."""
    kept, ranger = [life], RangerInMemory([ours()])
    kept = push(changed(kept, assigned(kept, "alice")), ranger)
    assert told(kept) == "1 applied alice"
    assert {who for _, who, _ in ranger.holdings()} == {"alice"}
    given, ranger = [life], RangerInMemory([ours()])
    given = push(changed(given, assigned(given, "bob", anyone=True)), ranger)
    assert told(given[1:]) == "2 applied bob"
    assert given[0].state is State.CLOSED
    assert {who for _, who, _ in ranger.holdings()} == {"bob"}


def event(kind: ChangeKind, user: str, started: int, ended: int, **more: Any) -> EntityEvent:
    given = {"source": "s", "id": f"{user} {started}", "received": ended} | more
    return EntityEvent(KV, kind, Stage.REQUEST, user, started, ended, **given)


HELD = FoldSettings(baseline=50, gives={"dataset": ALL}, until=10**9, skew=0, uncorroborated=True)


@pytest.mark.parametrize("life", DOUBTED.values(), ids=DOUBTED)
@pytest.mark.parametrize("assigning", [True, False], ids=["assign", "forget"])
def test_a_decision_about_a_doubted_life_outlasts_the_doubt(life: Life, assigning: bool) -> None:
    """What was known until then does not doubt it again; what comes after it does."""
    first = event(ChangeKind.CREATE, "alice", BEGUN, BEGUN + 50)
    rival = event(ChangeKind.CREATE, "bob", BEGUN + 10, BEGUN + 60)
    overlap = event(ChangeKind.DELETE, "bob", BEGUN + 5, BEGUN + 70)
    unclear = event(ChangeKind.DELETE, "bob", BEGUN + 200, DECIDED - 10, outcome=Outcome.UNCLEAR)
    before = [first, rival, overlap, unclear]
    lives = changed([life], assigned([life], "alice") if assigning else forgotten([life]))
    after = fold(KV, before, lives, HELD)
    assert [replace(each, versions=None) for each in after] == lives
    later = event(ChangeKind.DELETE, "bob", DECIDED + 10, DECIDED + 20)
    assert not any(each.is_open for each in fold(KV, [*before, later], lives, HELD))
    doubt = replace(later, outcome=Outcome.UNCLEAR)
    assert fold(KV, [*before, doubt], lives, HELD)[-1].state is State.SUSPENDED


FORGOTTEN = {
    "contested": ([CONTESTED], "1 known -"),
    "contested, its grant was revoked": ([REVOKED], "1 known -"),
    "contested, its grant is to be revoked": ([TO_REVOKE], "1 closing -, 2 known -"),
    "suspended": ([SUSPENDED], "1 known -"),
    "suspended, its grant is to be revoked": ([TO_SUSPEND], "1 closing alice, 2 known -"),
    "known, of a non-creator": ([row(State.KNOWN, creator="root")], "1 known -"),
    "unconfirmed": ([UNCONFIRMED], "1 known -"),
    "blocked, nothing sent": ([NOT_SENT], "1 known -"),
    "blocked, with a policy": ([row(State.BLOCKED)], "1 closing alice, 2 known -"),
    "applied": ([row(State.APPLIED)], "1 closing alice, 2 known -"),
    "pending, perhaps sent": ([row(State.PENDING)], "1 closing alice, 2 known -"),
}


@pytest.mark.parametrize(("lives", "after"), FORGOTTEN.values(), ids=FORGOTTEN)
def test_forget(lives: list[Life], after: str) -> None:
    assert told(changed(lives, forgotten(lives))) == after


@pytest.mark.parametrize(
    ("lives", "message"),
    [([], "is not in the ledger"), ([row(State.CLOSED)], "was deleted"), ([KNOWN], "already has no creator")],
    ids=["unknown", "deleted", "ownerless"],
)
def test_what_can_not_be_forgotten(lives: list[Life], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        forgotten(lives)


OPEN = [state for state in State if state not in (State.CLOSING, State.CLOSED)]


@given(st.sampled_from(OPEN), st.booleans(), st.integers(BEGUN + 201, 10_000))
def test_what_a_person_decided_stands_until_the_entity_is_deleted(state: State, assigning: bool, time: int) -> None:
    """Also if that was before the person decided, and is told later; and whoever touches it gets nothing.

    Of a doubted life the person says that it still is: only what is told of a later time ends it.
    """
    before = [row(state, candidates=("alice", "bob"))]
    change = assigned(before, anyone=True) if assigning else forgotten(before)
    lives = changed(before, change)
    touched = event(ChangeKind.CREATE, "mallory", time, time)
    assert {life.creator for life in fold(KV, [touched], lives, HELD)} == {life.creator for life in lives}
    deleted = event(ChangeKind.DELETE, "mallory", time, time)
    stands = is_doubted(before[0]) and time < DECIDED
    assert any(life.is_open for life in fold(KV, [deleted], lives, HELD)) is stands
