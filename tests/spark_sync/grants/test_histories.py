"""After any history Ranger allows exactly what the lives say, and in between nothing that no life gives.

A machine plays a history: creations, deletions, doubts, assignments, changed settings, runs that are killed anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
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
from ranger_cdap.config import CdapSettings, RangerSettings, Settings, SyncSettings
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.plan import PlanSettings
from spark_sync.grants.step_executor import StepExecutor
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import DOUBTED_STATES, GRANTING_STATES, Life, State
from spark_sync.ledger.life_changes import ended, restored
from spark_sync.reconcile.drift import survey
from spark_sync.reconcile.overrides import assign
from spark_sync.reconcile.regrant import changes_of
from tests.spark_sync.conftest import Ranger
from tests.spark_sync.grants.fixtures import MemoryLedger, pushed_by
from tests.spark_sync.grants.test_grant_reach import engine_with
from tests.spark_sync.planning import planning
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
    of_a_page = 1

    def record(self, changes: Any) -> None:
        self.ranger.live()
        super().record(changes)
        self.ranger.live()


class World:
    """A ledger and a Ranger."""

    def __init__(self) -> None:
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
        return replace(planning, service=self.service)

    def run(self, planning: PlanSettings, kill_at: int) -> None:
        self.ranger.left = kill_at
        try:
            found = pushed_by(
                self.ledger,
                self.ranger,
                self.planning(planning),
                executor=StepExecutor(1, 0.0),
            )
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
    sync=SyncSettings(username="sync"),
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


def effective_access(entity: EntityId) -> Iterator[EntityId]:
    yield entity
    if entity.type == "application":
        yield from (program for program in ASKED if program.type == "program" and program.is_within(entity))


class Histories(RuleBasedStateMachine):
    """One history."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.planning = planning()
        self.accesses: tuple[str, ...] = ACCESS_TYPES
        self.ever = set(ACCESS_TYPES)
        self.settled = True
        self.least: dict[tuple[EntityId, int], set[str]] = {}

    @initialize(delegate=st.booleans(), accesses=st.sampled_from([ACCESS_TYPES, ("read",)]))
    def configure(self, delegate: bool, accesses: tuple[str, ...]) -> None:
        self._configured(delegate, accesses)
        self.ever = set(accesses)

    def _configured(self, delegate: bool, accesses: tuple[str, ...]) -> None:
        gives = dict.fromkeys({entity.type for entity in ENTITIES}, accesses)
        self.planning = replace(self.planning, delegate_admin=delegate, gives=gives)
        self.accesses = accesses
        self.ever |= set(accesses)

    @precondition(lambda self: self.settled)
    @rule(delegate=st.booleans(), accesses=st.sampled_from([ACCESS_TYPES, ("read",), ("read", "write"), ()]))
    def change_settings(self, delegate: bool, accesses: tuple[str, ...]) -> None:
        self._configured(delegate, accesses)

    @rule()
    def regrant(self) -> None:
        planning = self.world.planning(self.planning)
        known = survey(self.world.ledger.rows.values(), self.world.policies(), None, planning)
        self.world.write(*(change.after for change in changes_of(known, planning)))
        self.settled = False

    @rule(entity=st.sampled_from(ENTITIES), user=st.sampled_from(USERS))
    def create(self, entity: EntityId, user: str) -> None:
        if self.world.current(entity) is None and self.accesses:
            number = max((life.number for life in self.world.lives(entity)), default=0) + 1
            begun = Position(number, False, "test", str(number))
            terms = self.planning.terms
            self.world.write(Life(entity, number, user, begun, State.PENDING, accesses=self.accesses, terms=terms))
            self.settled = False

    @rule(entity=st.sampled_from(ENTITIES))
    def delete(self, entity: EntityId) -> None:
        if life := self.world.current(entity):
            self.world.write(ended(life, Position(life.number, True, "test", "end"), recorded=True))
            self.settled = False

    @rule(entity=st.sampled_from(ENTITIES))
    def doubt(self, entity: EntityId) -> None:
        if (life := self.world.current(entity)) and life.state in GRANTING_STATES:
            self.world.write(replace(life, state=State.SUSPENDED, reason="doubt", revoke=True))
            self.settled = False

    @rule(entity=st.sampled_from(ENTITIES))
    def end_the_doubt(self, entity: EntityId) -> None:
        if (life := self.world.current(entity)) and life.state in DOUBTED_STATES:
            self.world.write(restored(life))
            self.settled = False

    @rule(entity=st.sampled_from(ENTITIES), user=st.sampled_from(USERS))
    def assign(self, entity: EntityId, user: str) -> None:
        life = self.world.current(entity)
        if self.accesses and life is not None and life.creator != user and life.state not in DOUBTED_STATES:
            lives, terms = self.world.lives(entity), self.planning.terms
            changes = assign(entity, lives, user, self.accesses, non_creators=(), decided=0, terms=terms)
            self.world.write(*(change.after for change in changes))
            self.settled = False

    @rule(kill_at=st.integers(0, 12))
    def killed_run(self, kill_at: int) -> None:
        self.world.run(self.planning, kill_at)
        self.settled = False

    @rule()
    def run(self) -> None:
        self.world.run(self.planning, -1)
        self.settled = True
        self.least.clear()

    @invariant()
    def each_policy_is_on_exactly_one_entity(self) -> None:
        for policy in self.world.policies():
            assert policy.resources
            assert policy.additional_resources == [policy.resources]
            assert all(len(level.values) == 1 and level.values[0] for level in policy.resources.values())

    @invariant()
    def no_user_has_what_no_life_gives(self) -> None:
        held = {
            (life.holder, entity)
            for life in self.world.ledger.rows.values()
            if life.state is not State.CLOSED
            for entity in effective_access(life.entity)
        }
        for user, entity, access in allowed(self.world.policies()):
            assert (user, entity) in held
            assert access in self.ever

    @invariant()
    def no_grant_is_absent_meanwhile(self) -> None:
        granted = allowed(self.world.policies())
        for life in self.world.ledger.rows.values():
            # A run that was killed may have taken away what the settings gave before, or not yet.
            least = self.least.setdefault((life.entity, life.number), set(life.accesses))
            least &= set(life.accesses)
            if life.state is State.APPLIED:
                for access in {"read", "admin"} & set(life.applied) & least:
                    assert (life.creator, life.entity, access) in granted

    @precondition(lambda self: self.settled)
    @invariant()
    def ranger_decides_as_the_lives_say(self) -> None:
        rows = self.world.ledger.rows.values()
        assert not [life for life in rows if life.state in (State.CLOSING, State.PENDING)]
        wanted = {
            (life.creator, entity, access)
            for life in rows
            if life.state is State.APPLIED
            for entity in effective_access(life.entity)
            for access in life.applied
            if access in ("read", "admin")
        }
        assert allowed(self.world.policies()) == wanted


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
    """A ledger, and the embedded Ranger Admin."""

    def __init__(self, ranger: Ranger) -> None:
        super().__init__()
        self.remote = ranger
        self.ranger = self.ledger.ranger = Remote(ranger)  # type: ignore[assignment]

    @property
    def service(self) -> str:
        return self.remote.service

    def policies(self) -> list[Policy]:
        return self.remote.policies()


@pytest.mark.slow
def test_the_same_in_the_embedded_ranger_admin(new_ranger: Callable[[], Ranger]) -> None:
    class Embedded(Histories):
        def __init__(self) -> None:
            super().__init__()
            self.world = RemoteWorld(new_ranger())

    few = hypothesis_settings(max_examples=25, stateful_step_count=20, deadline=None)
    run_state_machine_as_test(Embedded, settings=few)


Histories.TestCase.settings = hypothesis_settings(max_examples=300, stateful_step_count=40, deadline=None)
TestHistories = Histories.TestCase
