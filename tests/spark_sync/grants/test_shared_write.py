"""What a policy of several entities is, and what its changes make of the lives: pure, clause by clause."""

from __future__ import annotations

from typing import Any

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import grant_for
from ranger_cdap.cdap.shared_policy import PolicyPlace, SharedPolicy, SharedTerms, shared_policy
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.plan import Join, Leave, PlanSettings, shared_terms
from spark_sync.grants.shared_write import PolicyInRanger, SharedWrite, applied, found, left
from spark_sync.ledger.life import Life, State
from tests.spark_sync.grants.fixtures import ALL, DATASET, life

OTHER = EntityId("dataset", ("ns1", "other"))
GRANT = grant_for(DATASET, "alice", "cdap", ALL, non_creators=())
TERMS = SharedTerms.of(DATASET, GRANT, delegate_admin=False)
PLACE = PolicyPlace(TERMS.key, 1)


def write(*others: Life, **steps: Any) -> SharedWrite:
    return SharedWrite(PLACE, "cdap", "cdap", others=others, **steps)


def policy(*entities: EntityId, place: int = 1) -> Policy:
    return shared_policy(SharedPolicy(TERMS, place, frozenset(entities)), "cdap")


def leave(state: State) -> Leave:
    leaving = life(state=state, places=(str(PLACE),))
    done = State.APPLIED if state is State.APPLIED else State.CLOSED
    return Leave(leaving, PLACE, "cdap", leaving.become(done, reason="its own", places=()))


@pytest.mark.parametrize("group", ["", "staff"])
def test_grants_with_an_extra_group_have_terms_of_their_own(group: str) -> None:
    settings = PlanSettings("cdap", "cdap", frozenset({"root"}), grantor="sync", extra_group=group)
    terms = shared_terms(DATASET, GRANT, settings)
    assert (terms.group, terms.key == TERMS.key) == (group, group == "")


LEFT = [
    # the state of a life that leaves, whether the policy had its entity, and whether that revokes its grant
    (State.CLOSING, True, True),
    (State.CLOSING, False, False),
    (State.APPLIED, True, False),  # it only moved
    (State.APPLIED, False, False),
]


@pytest.mark.parametrize(("state", "there", "revoked"), LEFT)
@pytest.mark.parametrize("reason", ["", "edited: by someone"])
def test_a_life_that_left_is_done_and_says_what_went_wrong(
    state: State, there: bool, revoked: bool, reason: str
) -> None:
    step = leave(state)
    before = PolicyInRanger(policy(DATASET), frozenset({DATASET if there else OTHER}), edited=False)
    (outcome,) = left(write(leaves=(step,)), before, reason)
    assert (outcome.life.state, outcome.life.places) == (step.done.state, ())
    assert (outcome.life.reason, outcome.revoked) == (reason or "its own", revoked)


NUMBERS = [
    # Ranger's answer, and the policy's number and version in the ledger
    (Policy(id=7, version=3), (7, 3)),
    (Policy(id=7), (7, -1)),
    (Policy(version=3), (-1, 3)),
    (None, (-1, -1)),
]


@pytest.mark.parametrize(("answer", "numbers"), NUMBERS)
def test_a_granted_life_names_the_policy_that_holds_it(answer: Policy | None, numbers: tuple[int, int]) -> None:
    now = applied(Join(life(), GRANT, TERMS, PLACE, "cdap"), answer).life
    assert (now.state, now.applied, now.policy_id, now.policy_version) == (State.APPLIED, ALL, *numbers)


STAYS, MAY = life(entity=OTHER, state=State.APPLIED), life(entity=OTHER, state=State.SUSPENDED)
EDITED = [
    # the other lives of the policy, what Ranger has there, and whether a person edited it
    ((), None, False),
    ((STAYS,), None, True),
    ((STAYS,), policy(OTHER), False),
    ((STAYS,), policy(DATASET), True),
    ((STAYS,), policy(OTHER, DATASET), True),
    ((MAY,), policy(OTHER), False),
    ((MAY,), None, False),
    ((STAYS,), policy(OTHER, place=2), True),
    ((STAYS,), replaced(policy(OTHER), description="edited"), True),
]


@pytest.mark.parametrize(("others", "there", "edited"), EDITED)
def test_a_policy_is_unedited_between_what_must_and_what_may_be_in_it(
    others: tuple[Life, ...], there: Policy | None, edited: bool
) -> None:
    assert found(write(*others), there).edited is edited
