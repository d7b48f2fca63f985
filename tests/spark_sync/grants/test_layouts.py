"""Two layouts, the same decisions: after any history, a policy per entity and one per creator allow alike.

A machine plays one history in both layouts: creations, deletions, doubts, assignments, changed settings, runs that are
killed anywhere. Everything is compared with a model that knows who holds what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import msgspec
import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.cdap.shared_policy import named_entities
from ranger_cdap.config import CdapSettings, RangerSettings, Settings, SyncSettings
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.plan import Layout, PlanSettings
from spark_sync.grants.push import push
from spark_sync.grants.relayout import CHANGED, relaid
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import DOUBTED_STATES, GRANTING_STATES, Life, State
from spark_sync.ledger.life_changes import ended, restored
from spark_sync.reconcile.drift import survey
from spark_sync.reconcile.overrides import assign
from spark_sync.reconcile.regrant import changes_of
from tests.spark_sync.conftest import Ranger
from tests.spark_sync.grants.fixtures import MemoryLedger
from tests.spark_sync.grants.test_grant_reach import engine_with
from tests.spark_sync.reconcile.drift_fixtures import RangerInMemory

USERS: Final = ("alice", "bob")
ENTITIES: Final = (
    EntityId("namespace", ("ns1",)),
    EntityId("namespace", ("ns2",)),
    EntityId("application", ("ns1", "a")),
    EntityId("application", ("ns1", "b")),
    EntityId("dataset", ("ns1", "a")),
    EntityId("dataset", ("ns1", "b")),
    EntityId("dataset", ("ns1", "c")),
    EntityId("dataset", ("ns2", "a")),
)
ASKED: Final = (*ENTITIES, EntityId("program", ("ns1", "a", "worker.w")), EntityId("dataset", ("ns2", "b")))
FEW: Final = 2
"""Entities per policy in these tests, so that policies fill up."""


class Killed(BaseException):
    """What a test raises where the process would be killed."""


class Mortal(RangerInMemory):
    """A Ranger whose client is killed at the n-th request: before it, or (a change) after it."""

    left = -1

    def live(self) -> None:
        if self.left == 0:
            raise Killed
        self.left -= 1

    def create_policy(self, policy: Policy) -> Policy:
        self.live()
        made = super().create_policy(policy)
        self.live()
        return made

    def update_policy(self, policy: Policy) -> Policy:
        self.live()
        made = super().update_policy(policy)
        self.live()
        return made

    def delete_policy(self, policy_id: int) -> None:
        self.live()
        super().delete_policy(policy_id)
        self.live()


class MortalLedger(MemoryLedger):
    """A ledger whose writer is killed with the client of Ranger."""

    ranger: Mortal

    def record(self, changes: Any) -> None:
        self.ranger.live()
        super().record(changes)
        self.ranger.live()


@dataclass
class World:
    """One layout: its ledger and its Ranger."""

    layout: Layout

    def __post_init__(self) -> None:
        self.ranger = Mortal([])
        self.ledger = MortalLedger()
        self.ledger.ranger = self.ranger

    def current(self, entity: EntityId) -> Life | None:
        return next((life for life in self.lives(entity) if life.is_open), None)

    def lives(self, entity: EntityId) -> list[Life]:
        return [life for life in self.ledger.lives(list(State)) if life.entity == entity]

    def write(self, *lives: Life) -> None:
        for life in lives:
            self.ledger.rows[life.entity, life.number] = life

    @property
    def service(self) -> str:
        return "cdapdev"

    def planning(self, planning: PlanSettings) -> PlanSettings:
        return replace(planning, layout=self.layout, service=self.service)

    def run(self, planning: PlanSettings, kill_at: int) -> None:
        self.ranger.left = kill_at
        try:
            found = push(self.ledger, RUN, self.ranger, planning=self.planning(planning))  # type: ignore[arg-type]
            assert found.error is None
        except Killed:
            pass
        finally:
            self.ranger.left = -1

    def policies(self) -> list[Policy]:
        return list(self.ranger.policies.values())


RUN: Final = Settings(
    ranger=RangerSettings(url="http://127.0.0.1:1", service="cdapdev"),
    cdap=CdapSettings(instance="cdap"),
    sync=SyncSettings(username="sync", patience=0.0, concurrency=1),
)


def allowed(policies: list[Policy]) -> frozenset[tuple[str, EntityId, str]]:
    """Who may do what, by the engine, on every entity of the tests."""
    return _allowed(msgspec.json.encode(policies))


@lru_cache(maxsize=1_000)
def _allowed(policies: bytes) -> frozenset[tuple[str, EntityId, str]]:
    return frozenset(_all_allowed(engine_with(*msgspec.json.decode(policies, type=list[Policy]))))


def _all_allowed(engine: PolicyEngine) -> Iterator[tuple[str, EntityId, str]]:
    for user in (*USERS, "carol"):
        for entity in ASKED:
            for access in ("read", "admin"):
                request = AccessRequest(
                    resource=to_resource(entity, "cdap"), access_type=access, user=user, groups=frozenset({"public"})
                )
                if engine.evaluate(request).allowed:
                    yield user, entity, access


def reach(entity: EntityId) -> Iterator[EntityId]:
    yield entity
    if entity.type == "application":
        yield from (program for program in ASKED if program.type == "program" and program.is_within(entity))


class Layouts(RuleBasedStateMachine):
    """One history in both layouts, and in one that changes its layout."""

    changes_any_time = False

    def __init__(self) -> None:
        super().__init__()
        self.mixed = World("entity")
        self.worlds: tuple[World, ...] = (World("entity"), World("creator"), self.mixed)
        self.planning = PlanSettings("cdap", "cdapdev", grantor="sync")
        self.accesses: tuple[str, ...] = ACCESS_TYPES
        self.ever = set(ACCESS_TYPES)
        self.settled = True
        self.least: dict[tuple[int, EntityId, int], set[str]] = {}

    @initialize(delegate=st.booleans(), accesses=st.sampled_from([ACCESS_TYPES, ("read",)]))
    def configure(self, delegate: bool, accesses: tuple[str, ...]) -> None:
        self._configured(delegate, accesses)
        self.ever = set(accesses)

    def _configured(self, delegate: bool, accesses: tuple[str, ...]) -> None:
        gives = dict.fromkeys({entity.type for entity in ENTITIES}, accesses)
        self.planning = replace(self.planning, delegate_admin=delegate, gives=gives)
        self.accesses = accesses
        self.ever |= set(accesses)

    @precondition(lambda self: self.settled or self.changes_any_time)
    @rule(delegate=st.booleans(), accesses=st.sampled_from([ACCESS_TYPES, ("read",), ("read", "write"), ()]))
    def change_settings(self, delegate: bool, accesses: tuple[str, ...]) -> None:
        self._configured(delegate, accesses)

    @rule()
    def regrant(self) -> None:
        for world in self.worlds:
            planning = world.planning(self.planning)
            known = survey(world.ledger.rows.values(), world.policies(), None, planning)
            world.write(*(after for _, after in changes_of(known, planning)))
        self.settled = False

    @rule()
    def change_layout(self) -> None:
        self.mixed.layout = "creator" if self.mixed.layout == "entity" else "entity"

    @rule()
    def relayout(self) -> None:
        planning = self.mixed.planning(self.planning)
        known = survey(self.mixed.ledger.lives([State.APPLIED]), self.mixed.policies(), None, planning)
        held = [(life, facts.holding(life)) for facts in known for life in facts.lives]
        found = relaid(held, self.mixed.policies(), self.mixed.ledger.place_sizes(USERS), planning)
        assert CHANGED not in {life.reason for life in found.kept}
        self.mixed.write(*found.moving)
        self.settled = False

    @rule(entity=st.sampled_from(ENTITIES), user=st.sampled_from(USERS))
    def create(self, entity: EntityId, user: str) -> None:
        for world in self.worlds:
            if world.current(entity) is None and self.accesses:
                number = max((life.number for life in world.lives(entity)), default=0) + 1
                begun = Position(number, False, "test", str(number))
                terms = self.planning.terms
                world.write(Life(entity, number, user, begun, State.PENDING, accesses=self.accesses, terms=terms))
                self.settled = False

    @rule(entity=st.sampled_from(ENTITIES))
    def delete(self, entity: EntityId) -> None:
        for world in self.worlds:
            if life := world.current(entity):
                world.write(ended(life, Position(life.number, True, "test", "end"), recorded=True))
                self.settled = False

    @rule(entity=st.sampled_from(ENTITIES))
    def doubt(self, entity: EntityId) -> None:
        for world in self.worlds:
            if (life := world.current(entity)) and life.state in GRANTING_STATES:
                revoke = life.revoke or life.state in GRANTING_STATES
                world.write(replace(life, state=State.SUSPENDED, reason="doubt", revoke=revoke))
                self.settled = False

    @rule(entity=st.sampled_from(ENTITIES))
    def end_the_doubt(self, entity: EntityId) -> None:
        for world in self.worlds:
            if (life := world.current(entity)) and life.state in DOUBTED_STATES:
                world.write(restored(life))
                self.settled = False

    @rule(entity=st.sampled_from(ENTITIES), user=st.sampled_from(USERS))
    def assign(self, entity: EntityId, user: str) -> None:
        for world in self.worlds:
            life = world.current(entity)
            if self.accesses and life is not None and life.creator != user and life.state not in DOUBTED_STATES:
                change = assign(
                    entity,
                    world.lives(entity),
                    user,
                    self.accesses,
                    non_creators=(),
                    decided=0,
                    terms=self.planning.terms,
                )
                world.write(*change.lives)
                self.settled = False

    @rule(kill_at=st.integers(0, 12))
    def killed_run(self, kill_at: int) -> None:
        for world in self.worlds:
            world.run(self.planning, kill_at)
        self.settled = False

    @rule()
    def run(self) -> None:
        for world in self.worlds:
            world.run(self.planning, -1)
        self.settled = True
        self.least.clear()

    @invariant()
    def no_policy_reaches_further(self) -> None:
        for world in self.worlds:
            for policy in world.policies():
                for resources in (policy.resources, *policy.additional_resources):
                    assert resources
                    assert all(len(level.values) == 1 and level.values[0] for level in resources.values())
                assert len(named_entities(policy, "cdap")) <= FEW

    @invariant()
    def nobody_has_what_no_life_gives(self) -> None:
        for world in self.worlds:
            held = {
                (life.holder, entity)
                for life in world.ledger.rows.values()
                if life.state is not State.CLOSED
                for entity in reach(life.entity)
            }
            for user, entity, access in allowed(world.policies()):
                assert (user, entity) in held
                assert access in self.ever

    @invariant()
    def no_grant_is_absent_meanwhile(self) -> None:
        for place, world in enumerate(self.worlds):
            granted = allowed(world.policies())
            for life in world.ledger.rows.values():
                # A run that was killed may have taken away what the settings gave before, or not yet.
                least = self.least.setdefault((place, life.entity, life.number), set(life.accesses))
                least &= set(life.accesses)
                moves = life.state is State.PENDING and life.is_moving and life.policy_id >= 0
                if life.state is State.APPLIED or moves:
                    for access in {"read", "admin"} & set(life.applied) & least:
                        assert (life.creator, life.entity, access) in granted

    @precondition(lambda self: self.settled)
    @invariant()
    def both_layouts_decide_as_the_lives_say(self) -> None:
        for world in self.worlds:
            assert not [life for life in world.ledger.rows.values() if life.state in (State.CLOSING, State.PENDING)]
            wanted = {
                (life.creator, entity, access)
                for life in world.ledger.rows.values()
                if life.state is State.APPLIED
                for entity in reach(life.entity)
                for access in life.applied
                if access in ("read", "admin")
            }
            assert allowed(world.policies()) == wanted
        one, *others = (
            {
                key: (life.state, life.creator, life.applied if life.is_open else ())
                for key, life in world.ledger.rows.items()
            }
            for world in self.worlds
        )
        assert all(other == one for other in others)


@pytest.fixture(autouse=True)
def few_entities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_sync.grants.places.MOST_ENTITIES", FEW)


class Restless(Layouts):
    """Settings that change also between a run that was killed and the next one; one policy per creator.

    The ledger knows the places before anything is sent. In the other layout it knows the former terms only, so that
    such a policy may count as edited.
    """

    changes_any_time = True

    def __init__(self) -> None:
        super().__init__()
        self.mixed = World("creator")
        self.worlds = (self.mixed,)

    def change_layout(self) -> None:
        """Keep the layout."""


CLICKS, KV, LOG = (EntityId("dataset", ("ns1", name)) for name in "abc")


def test_a_policy_is_full_also_of_grants_that_are_leaving_it(few_entities: None) -> None:
    history = Restless()
    history.configure(delegate=False, accesses=ACCESS_TYPES)
    history.create(entity=LOG, user="bob")
    history.killed_run(kill_at=3)
    for delegate, kill_at in ((True, 1), (False, 0)):
        history.change_settings(accesses=ACCESS_TYPES, delegate=delegate)
        history.killed_run(kill_at=kill_at)
    history.create(entity=CLICKS, user="bob")
    history.create(entity=KV, user="bob")
    for kill_at in range(12):
        history.killed_run(kill_at=kill_at)
        history.no_policy_reaches_further()
    history.run()
    history.both_layouts_decide_as_the_lives_say()


def test_a_grant_goes_back_to_the_policy_that_it_has_not_left(few_entities: None) -> None:
    history = Restless()
    history.configure(delegate=False, accesses=ACCESS_TYPES)
    for entity in (CLICKS, KV):
        history.create(entity=entity, user="bob")
    history.run()
    (before,) = history.mixed.policies()
    history.change_settings(accesses=ACCESS_TYPES, delegate=True)
    history.regrant()
    history.killed_run(kill_at=1)
    history.change_settings(accesses=ACCESS_TYPES, delegate=False)
    history.run()
    assert history.mixed.policies() == [before]


class Remote:
    """The client of a real server that is killed as `Mortal` is."""

    def __init__(self, ranger: Ranger) -> None:
        self.ranger, self.left = ranger, -1

    def live(self) -> None:
        if self.left == 0:
            raise Killed
        self.left -= 1

    def __getattr__(self, name: str) -> Callable[..., Any]:
        request = getattr(self.ranger.sync, name)
        if name.split("_")[0] not in ("create", "update", "delete"):
            found: Callable[..., Any] = request
            return found

        def mortal(*args: Any) -> Any:
            self.live()
            answer = request(*args)
            self.live()
            return answer

        return mortal


class RemoteWorld(World):
    """One layout in the embedded Ranger Admin."""

    def __init__(self, layout: Layout, ranger: Ranger) -> None:
        super().__init__(layout)
        self.remote = ranger
        self.ranger = self.ledger.ranger = Remote(ranger)  # type: ignore[assignment]

    @property
    def service(self) -> str:
        return self.remote.service

    def policies(self) -> list[Policy]:
        return self.remote.policies()


@pytest.mark.slow
def test_the_same_in_the_embedded_ranger_admin(new_ranger: Callable[[], Ranger]) -> None:
    class Embedded(Layouts):
        def __init__(self) -> None:
            super().__init__()
            self.mixed = RemoteWorld("entity", new_ranger())
            self.worlds = (RemoteWorld("entity", new_ranger()), RemoteWorld("creator", new_ranger()), self.mixed)

    few = hypothesis_settings(max_examples=25, stateful_step_count=20, deadline=None)
    run_state_machine_as_test(Embedded, settings=few)


Layouts.TestCase.settings = Restless.TestCase.settings = hypothesis_settings(
    max_examples=300, stateful_step_count=40, deadline=None
)
TestLayouts = Layouts.TestCase
TestRestless = Restless.TestCase
