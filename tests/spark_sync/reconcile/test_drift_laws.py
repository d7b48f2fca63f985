"""Laws of reconciling, on whatever a restored ledger and people's hands may have left behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import NAMESPACE_URL, UUID, uuid5

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.inventory import Inventory
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.event import NEVER, ChangeKind, EntityEvent, Outcome, Stage
from spark_sync.ledger.fold import fold
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.grant_terms import NO_ACCESS_BY_PROFILE
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile.drift import Drift, survey
from spark_sync.reconcile.reconcile import lives_to_compare
from spark_sync.reconcile.repair import RepairAction, Repairs, repair_all
from tests.spark_sync.grants.fixtures import item, resource
from tests.spark_sync.reconcile.drift_fixtures import (
    ALL,
    APP,
    ENDED_STATES,
    KV,
    SETTINGS,
    RangerInMemory,
    changed,
    find_drift,
    inventory,
    ours,
    push,
    row,
)

NUMBERS = range(1, 4)
OPEN = [state for state in State if state not in ENDED_STATES]


@dataclass(frozen=True)
class World:
    lives: list[Life]
    policies: list[Policy]
    listed: Inventory | None

    def repaired(self, action: RepairAction) -> Repairs:
        return repair_all(survey(self.lives, self.policies, self.listed, SETTINGS), SETTINGS, action)


@st.composite
def policies(draw: st.DrawFn) -> list[Policy]:
    found = []
    for number in NUMBERS:
        if draw(st.booleans()):
            continue
        user = draw(st.sampled_from(["alice", "bob"]))
        edited = draw(
            st.sampled_from(
                [
                    {},
                    {},
                    {},
                    {"policy_items": [item(user, *ALL), item("carol", "read")]},
                    {"policy_items": [item("{USER}", "read")]},
                    {"is_enabled": False},
                    {"policy_labels": []},
                ]
            )
        )
        found.append(ours(number=number, user=user, policy_id=7 + number, **edited))
    if draw(st.booleans()):
        theirs = resource(namespace="ns1", dataset="kv")
        found.append(Policy(id=99, guid="theirs", name="theirs", resources=theirs, policy_items=[item("bob", "read")]))
    return found


LISTINGS = [None, inventory(KV), inventory(), inventory(KV, taken=350), inventory(taken=350)]


@st.composite
def worlds(draw: st.DrawFn, listings: Sequence[Inventory | None] = LISTINGS) -> World:
    """One entity: its lives as a ledger may have them, of which only the last may be open, and what is in Ranger."""
    lives = []
    count = draw(st.integers(0, 3))
    for number in range(1, count + 1):
        allowed = list(State) if number == count else list(ENDED_STATES)
        state = draw(st.sampled_from(allowed))
        creator = draw(st.sampled_from(["alice", "bob"]))
        if state is State.KNOWN:
            creator = draw(st.sampled_from([None, creator]))
        life = row(state, number=number, creator=creator)
        if creator and draw(st.booleans()):  # a run was killed before it wrote down what it sent
            life = replace(life, policy_id=-1, written="", applied=())
        lives.append(life)
    return World(lives, draw(policies()), draw(st.sampled_from(listings)))


@given(worlds(), st.sampled_from(RepairAction))
def test_no_action_ever_gives_anybody_what_the_ledger_did_not_owe_him(world: World, action: RepairAction) -> None:
    untouched, repaired = RangerInMemory(world.policies), RangerInMemory(world.policies)
    before = repaired.holdings()
    push(world.lives, untouched)
    repairs = world.repaired(action)
    for finding in repairs.settled:
        event(f"{action} {finding.drift}")
    push(changed(world.lives, repairs.changes), repaired)
    owed = {(str(ours().resources), life.creator, access) for life in world.lives if pending(life) for access in ALL}
    assert repaired.holdings() <= before | untouched.holdings() | owed


def pending(life: Life) -> bool:
    return life.state in (State.PENDING, State.FAILED)


@given(worlds(), st.sampled_from([RepairAction.ADOPT, RepairAction.RELEASE]))
def test_what_is_adopted_or_released_stays_as_it_is(world: World, action: RepairAction) -> None:
    repairs = world.repaired(action)
    assume(repairs.settled)
    ranger = RangerInMemory(world.policies)
    push(changed(world.lives, repairs.changes), ranger)
    for finding in repairs.settled:
        if finding.policy is not None:
            assert ranger.policies[finding.policy.id] == finding.policy


@given(worlds())
def test_what_is_revoked_is_gone_after_the_next_run(world: World) -> None:
    repairs = world.repaired(RepairAction.REVOKE)
    assume(repairs.settled)
    ranger = RangerInMemory(world.policies)
    after = changed(world.lives, repairs.changes)
    for _ in NUMBERS:  # a life is sent only when the one before it is closed
        after = push(after, ranger)
    left = {finding.number for finding in repairs.left}
    for finding in repairs.settled:
        if finding.policy is not None and finding.number not in left:
            rest = ranger.policies.get(finding.policy.id)
            kept = [] if rest is None else [user for item in rest.policy_items for user in item.users]
            creator = finding.life.creator if finding.life else None
            assert rest is None or (finding.drift is Drift.ENTITY_DELETED and creator not in kept)


@given(worlds(), st.sampled_from(RepairAction))
def test_what_an_action_settles_it_finds_no_more(world: World, action: RepairAction) -> None:
    repairs = world.repaired(action)
    again = World(changed(world.lives, repairs.changes), world.policies, world.listed).repaired(action)
    assert again.settled == ()
    assert again.changes == ()


@given(worlds(listings=[None, inventory(KV), inventory(KV, taken=350)]), st.sampled_from(RepairAction))
def test_nobody_becomes_the_creator_of_what_exists_by_touching_it(world: World, action: RepairAction) -> None:
    """Unless the inventory says that it does not exist."""
    record = EntityEvent(
        KV,
        ChangeKind.CREATE,
        Stage.REQUEST,
        "mallory",
        9000,
        9001,
        "s",
        "r",
        check="c",
        caller="records",
        received=9002,
    )
    check = replace(record, stage=Stage.CHECK, ended=NEVER, outcome=Outcome.UNCLEAR, id="c", caller="checks")
    settings = FoldSettings(baseline=50, gives={"dataset": ALL})
    repaired = changed(world.lives, world.repaired(action).changes)
    without, with_it = (
        {life.creator for life in fold(KV, [check, record], lives, settings)} for lives in (world.lives, repaired)
    )
    assert "mallory" not in with_it or "mallory" in without


@given(worlds(), st.sampled_from(RepairAction))
def test_the_last_life_alone_may_be_open_and_has_the_highest_number(world: World, action: RepairAction) -> None:
    lives = changed(world.lives, world.repaired(action).changes)
    decided = [life for life in lives if life.state is not State.UNCONFIRMED]
    assert all(not life.is_open for life in decided[:-1])


@given(worlds())
def test_to_compare_changes_nothing_and_finds_the_same_again(world: World) -> None:
    found = find_drift(world.lives, world.policies, world.listed, SETTINGS)
    assert find_drift(reversed(world.lives), reversed(world.policies), world.listed, SETTINGS) == [
        replace(finding, facts=replace(finding.facts, lives=finding.facts.lives[::-1])) for finding in found
    ]


ENTITIES = (KV, APP, EntityId("dataset", ("ns1", "kv2")), EntityId("namespace", ("ns1",)))
ELSEWHERE = ({"resources": resource(namespace="ns1", dataset="kv2")}, {"resources": resource(namespace="ns1")})
GIVING = replace(SETTINGS, gives={"dataset": ALL, "application": ALL})


@st.composite
def large_worlds(draw: st.DrawFn) -> World:
    """Several entities, most of them with nothing to compare; policies also on another entity than their life's."""
    lives, there = [], []
    for entity in ENTITIES:
        count = draw(st.integers(0, 2))
        for number in range(1, count + 1):
            open_states = [State.KNOWN, State.CLOSED, State.UNCONFIRMED, draw(st.sampled_from(State))]
            state = draw(st.sampled_from(open_states if number == count else [State.CLOSED, State.CLOSING]))
            life = row(state, entity, number, "alice" if state is not State.KNOWN else None)
            if state is State.KNOWN and draw(st.booleans()):  # a profile gave its creator nothing
                life = replace(life, creator="alice", reason=NO_ACCESS_BY_PROFILE)
            lives.append(life)
        for number in draw(st.sampled_from([(), (), (1,), (2,), (1, 3)])):
            edited = draw(st.sampled_from([{}, {}, {}, {}, *ELSEWHERE]))
            there.append(ours(entity, number, policy_id=7 + len(there), **edited))
    if draw(st.booleans()):
        theirs = resource(namespace="ns1", dataset="kv")
        guid = draw(st.sampled_from(["theirs", str(UUID(int=0, version=4)), str(uuid5(NAMESPACE_URL, "theirs"))]))
        there.append(Policy(id=99, guid=guid, name="theirs", resources=theirs, policy_items=[item("bob", "read")]))
    return World(lives, there, None)


@given(large_worlds(), st.sets(st.sampled_from(ENTITIES)))
@settings(max_examples=60)
def test_what_is_not_read_of_a_large_ledger_makes_no_difference(world: World, named: set[EntityId]) -> None:
    with TemporaryDirectory() as directory:
        ledger = DeltaLedger(Path(directory), "cdap")
        ledger.record([LedgerChange(None, life) for life in world.lives])
        compared = lives_to_compare(ledger, world.policies, "cdap", named)
    event("all are read" if len(compared) == len(world.lives) else "some are read")
    found, expected = (find_drift(lives, world.policies, None, GIVING) for lives in (compared, world.lives))
    assert found == expected
    assert {life.entity for life in compared} >= {life.entity for life in world.lives if life.entity in named}
