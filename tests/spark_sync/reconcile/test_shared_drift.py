"""A ledger that lost rows, or has wrong ones, beside policies of several entities: no repair gives anyone anything."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import ACCESS_TYPES
from spark_sync.grants.plan import PlanSettings
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile.drift import Drift, find_drift, survey
from spark_sync.reconcile.repair import RepairAction, repair_all
from tests.spark_sync.grants.test_layouts import World, allowed
from tests.spark_sync.reconcile.drift_fixtures import changed, inventory

PLANNING: Final = PlanSettings("cdap", "cdapdev", layout="creator", gives={"dataset": ACCESS_TYPES})
ENTITIES: Final = tuple(EntityId("dataset", ("ns1", name)) for name in "abc")
FATES: Final = st.sampled_from(["kept", "lost", "closed", "known", "other creator"])


def settled_world(users: tuple[str, ...]) -> World:
    world = World("creator")
    for n, (entity, user) in enumerate(zip(ENTITIES, users, strict=True)):
        begun = Position(n, False, "test", str(n))
        world.write(Life(entity, 1, user, begun, State.PENDING, accesses=ACCESS_TYPES, terms=PLANNING.terms))
    world.run(PLANNING, -1)
    return world


def suffer(world: World, entity: EntityId, fate: str) -> None:
    """What a ledger of yesterday, or of nowhere, says about an entity."""
    (life,) = world.lives(entity)
    without = Life(entity, 1, None, life.begun, State.KNOWN)
    match fate:
        case "lost":
            del world.ledger.rows[entity, 1]
        case "closed":
            ended = Position(life.begun.time + 1, True, "test", "end")
            world.write(replace(life, state=State.CLOSED, ended=ended, places=()))
        case "known":
            world.write(without)
        case "other creator":
            world.write(replace(without, creator="carol", state=State.PENDING, accesses=ACCESS_TYPES))
        case _:
            pass


@settings(max_examples=150, deadline=None)
@given(
    users=st.tuples(*[st.sampled_from(["alice", "bob"])] * 3),
    fates=st.tuples(FATES, FATES, FATES),
    action=st.sampled_from(RepairAction),
    listed=st.none() | st.sets(st.sampled_from(ENTITIES)),
)
def test_no_repair_gives_anyone_what_was_not_there(
    users: tuple[str, ...], fates: tuple[str, ...], action: RepairAction, listed: set[EntityId] | None
) -> None:
    world = settled_world(users)
    before = allowed(world.policies())
    for entity, fate in zip(ENTITIES, fates, strict=True):
        suffer(world, entity, fate)
    owed = {(life.creator, life.entity) for life in world.ledger.rows.values() if life.state is State.PENDING}
    seen = None if listed is None else inventory(*listed)
    known = survey(world.ledger.rows.values(), world.policies(), seen, PLANNING)
    repairs = repair_all(known, PLANNING, action)
    after = changed(world.ledger.rows.values(), repairs.changes)
    world.ledger.rows = {(life.entity, life.number): life for life in after}
    world.run(PLANNING, -1)
    now = allowed(world.policies())
    assert {(user, entity) for user, entity, _ in now - before} <= owed
    if action is RepairAction.REVOKE:
        ours = {life.entity for life in world.ledger.rows.values() if life.state is State.APPLIED}
        stale = {finding.entity for finding in repairs.left}
        assert {entity for _, entity, _ in now} <= ours | stale | {life.entity for life in repairs_blocked(world)}


def repairs_blocked(world: World) -> list[Life]:
    return [life for life in world.ledger.rows.values() if life.state in (State.BLOCKED, State.CLOSING)]


def test_a_lost_ledger_is_found_again_by_the_policies() -> None:
    world = settled_world(("alice", "alice", "bob"))
    before = allowed(world.policies())
    world.ledger.rows.clear()
    seen = inventory(*ENTITIES)
    found = find_drift([], world.policies(), seen, PLANNING)
    assert [finding.drift for finding in found] == [Drift.UNRECORDED] * 3
    repairs = repair_all(survey([], world.policies(), seen, PLANNING), PLANNING, RepairAction.ADOPT)
    assert repairs.left == ()
    world.ledger.rows = {(life.entity, life.number): life for life in changed([], repairs.changes)}
    assert {life.creator for life in world.ledger.rows.values()} == {"alice", "bob"}
    world.run(PLANNING, -1)
    assert allowed(world.policies()) == before
    assert find_drift(world.ledger.rows.values(), world.policies(), seen, PLANNING) == []
    for life in list(world.ledger.rows.values()):
        world.write(life.become(State.CLOSING, ended=Position(5_000, True, "test", "end")))
    world.run(PLANNING, -1)
    assert world.policies() == []


def test_what_a_person_took_out_is_missing_and_what_they_added_blocks_no_other() -> None:
    world = settled_world(("alice", "alice", "alice"))
    (policy,) = world.policies()
    policy.additional_resources = policy.additional_resources[:1]
    (finding,) = find_drift(world.ledger.rows.values(), world.policies(), None, PLANNING)
    assert (finding.drift, finding.entity) == (Drift.MISSING, ENTITIES[2])
