"""After a regrant Ranger holds what it would hold had the settings always been so, but for what people decided."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import product
from types import SimpleNamespace
from typing import Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from msgspec.structs import replace as replaced

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import granted_resource
from ranger_cdap.cdap.profile import load_profile, profile_names
from ranger_cdap.config import CdapSettings, RangerSettings, Settings, SyncSettings
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger_model.policy import Policy, PolicyResource
from spark_sync.grants.grant_policy import content_of, guid_of
from spark_sync.grants.plan import CreateGrant, PlanSettings, RevokePolicy, plan
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.resultant import Resultant
from spark_sync.grants.step_executor import StepExecutor
from spark_sync.ledger.event import Position
from spark_sync.ledger.grant_terms import NO_ACCESS_TO_TYPE, GrantGroup, outdated_grants
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import DOUBTED_STATES, MANUAL_TERMS, Life, State
from spark_sync.ledger.life_changes import ended, restored, suspended
from spark_sync.reconcile.drift import Drift, Facts, drift_of, survey
from spark_sync.reconcile.overrides import assign, forget, retry
from spark_sync.reconcile.regrant import regrants
from spark_sync.reconcile.repair import RepairAction, repair_all
from tests.spark_sync.grants.fixtures import MemoryLedger, item, look_at, pushed_by
from tests.spark_sync.reconcile.drift_fixtures import RangerInMemory, changed

ENTITIES: Final = (
    EntityId("namespace", ("ns1",)),
    EntityId("artifact", ("ns1", "etl")),
    EntityId("application", ("ns1", "shop")),
    EntityId("dataset", ("ns1", "kv")),
)
PLUGINS: Final[dict[str, Resultant]] = {
    "": lambda entity, user, accesses: accesses,
    "never writes 1.0": lambda entity, user, accesses: tuple(a for a in accesses if a != "write"),
    "nothing for alice 1.0": lambda entity, user, accesses: () if user == "alice" else accesses,
}
PROFILES: Final = st.sampled_from(profile_names())
USERS: Final = st.sampled_from(["alice", "bob"])
PLACES: Final = st.sampled_from(ENTITIES)
STEPS: Final = st.integers(0, 6)


class Killed(BaseException):
    """What a test raises where the process would be killed."""


class Mortal(RangerInMemory):
    """A Ranger whose client is killed before or after a change."""

    lives = -1

    def _live(self) -> None:
        if self.lives == 0:
            raise Killed
        self.lives -= 1

    def create_policy(self, policy: Policy) -> Policy:
        self._live()
        made = super().create_policy(policy)
        self._live()
        return made

    def update_policy(self, policy: Policy) -> Policy:
        self._live()
        made = super().update_policy(policy)
        self._live()
        return made

    def delete_policy(self, policy_id: int) -> None:
        self._live()
        super().delete_policy(policy_id)
        self._live()


@dataclass(frozen=True)
class Configured:
    """The settings of grants, and the plugin that is installed."""

    profile: str
    delegate_admin: bool
    plugin: str

    @property
    def settings(self) -> Settings:
        sync = SyncSettings(username="sync", delegate_admin=self.delegate_admin, on_deletion="report")
        return Settings(
            ranger=RangerSettings(service="cdapdev"),
            cdap=CdapSettings(instance="cdap", profile=self.profile),
            sync=sync,
        )

    @property
    def planning(self) -> PlanSettings:
        return replace(plan_settings(self.settings), resultant=PLUGINS[self.plugin], plugins="")


CONFIGURED: Final = st.builds(Configured, PROFILES, st.booleans(), st.sampled_from(sorted(PLUGINS)))


class Regrants(RuleBasedStateMachine):
    """Entities come and go, settings change, runs are killed, people decide; and now and then there is a regrant."""

    @initialize(configured=CONFIGURED, users=st.tuples(*[USERS] * len(ENTITIES)), sent=st.booleans())
    def begin(self, configured: Configured, users: tuple[str, ...], sent: bool) -> None:
        self.configured = configured
        self.ledger = MemoryLedger()
        self.ranger = Mortal([])
        self.decided_by_people: set[tuple[EntityId, int]] = set()
        self.theirs: dict[int, Policy] = {}
        self.time = 100
        self.interrupted = False
        for entity, user in zip(ENTITIES, users, strict=True):
            self.create(entity, user)
        if sent:
            self.push()

    # The world.

    @rule(entity=PLACES, user=USERS)
    def create(self, entity: EntityId, user: str) -> None:
        if self.current(entity) is not None:
            return
        number = max((n for where, n in self.ledger.rows if where == entity), default=0) + 1
        self.put(self.decided(Life(entity, number, user, self.now(), State.PENDING)))

    @rule(entity=PLACES)
    def end(self, entity: EntityId) -> None:
        if life := self.current(entity):
            self.put(ended(life, replace(self.now(), after_creations=True), recorded=True))

    @rule(entity=PLACES)
    def doubt_or_believe_again(self, entity: EntityId) -> None:
        if life := self.current(entity):
            doubt = SimpleNamespace(users=frozenset({"carol"}))
            self.put(restored(life) if life.state in DOUBTED_STATES else suspended(life, doubt))  # type: ignore[arg-type]

    @rule(configured=CONFIGURED)
    def configure(self, configured: Configured) -> None:
        if self.interrupted:
            # The ledger knows one state of the settings by which a killed run may have sent a policy, and no plugins.
            configured = replace(configured, plugin="") if not self.configured.plugin else self.configured
            sent = (life.terms for life in self.ledger.lives((State.PENDING,)) if life.terms != MANUAL_TERMS)
            now = self.configured.delegate_admin
            if any(terms and terms.delegate_admin is not now for terms in sent):
                configured = replace(configured, delegate_admin=now)
        self.configured = configured

    @rule()
    def run(self) -> None:
        self.push()

    @rule(after=STEPS)
    def killed_run(self, after: int) -> None:
        with self.killed(after):
            self.push()

    # People.

    @rule(entity=PLACES, edit=st.sampled_from(["narrow", "widen", "disable", "delete"]))
    def change_by_hand(self, entity: EntityId, edit: str) -> None:
        life = self.current(entity)
        if life is None or life.state in DOUBTED_STATES:
            return
        policy = self.ours(life)
        if policy is None:
            return
        first, *rest = policy.policy_items
        if edit == "narrow" and len(first.accesses) == 1:
            return
        if edit == "delete" and life.policy_id != policy.id:
            return  # as if it had never been sent
        # A killed regrant that had decided to revoke all of it does so, with what a person left of it.
        (step,) = plan([life], self.configured.planning) if life.state is State.PENDING else (None,)
        if edit != "widen" and not isinstance(step, RevokePolicy):
            self.decided_by_people.add((entity, life.number))
        match edit:
            case "narrow":
                items = [replaced(first, accesses=first.accesses[:-1]), *rest]
                self.ranger.policies[policy.id] = replaced(policy, policy_items=items, version=policy.version + 1)
            case "widen":
                items = [*policy.policy_items, item("mallory", "read")]
                self.ranger.policies[policy.id] = replaced(policy, policy_items=items, version=policy.version + 1)
            case "disable":
                self.ranger.policies[policy.id] = replaced(policy, is_enabled=False, version=policy.version + 1)
            case "delete":
                del self.ranger.policies[policy.id]

    @rule(entity=PLACES)
    def write_one_beforehand(self, entity: EntityId) -> None:
        there = {level: PolicyResource(values=[value]) for level, value in granted_resource(entity, "cdap").items()}
        number = max([100, *(n for n in self.ranger.policies if n), *self.theirs]) + 1
        items, name = [item("carol", "read"), item("alice", "read")], f"theirs-{number}"
        self.ranger.policies[number] = self.theirs[number] = Policy(
            id=number, guid=name, name=name, version=1, resources=there, policy_items=items
        )

    @rule(action=st.sampled_from([RepairAction.ADOPT, RepairAction.RELEASE]))
    def settle_drift(self, action: RepairAction) -> None:
        repairs = repair_all(self.facts(), self.configured.planning, action)
        for finding in repairs.settled:
            self.decided_by_people.add((finding.entity, finding.number))
        self.ledger.rows = {
            (life.entity, life.number): life for life in changed(self.ledger.rows.values(), repairs.changes)
        }

    @rule(entity=PLACES, user=USERS)
    def assign(self, entity: EntityId, user: str) -> None:
        accesses = load_profile(self.configured.profile).resultant(entity.type)
        with suppress(InvalidInput):
            lives, terms = self.lives(entity), self.configured.planning.terms
            changes = assign(entity, lives, user, accesses, non_creators=(), decided=0, anyone=True, terms=terms)
            self.override(changes)
            for life in (change.after for change in changes if change.after):
                self.wanted_again(life)

    @rule(entity=PLACES)
    def forget(self, entity: EntityId) -> None:
        with suppress(InvalidInput):
            self.override(forget(entity, self.lives(entity), decided=0))

    @rule(entity=PLACES)
    def retry(self, entity: EntityId) -> None:
        life = self.current(entity)
        again = retry(life) if life else None
        if again is not None:
            self.put(again)
            self.wanted_again(again)

    # The regrant.

    @rule(after=STEPS)
    def killed_regrant(self, after: int) -> None:
        with self.killed(after):
            self.regrant()

    @rule()
    def regrant_and_judge(self) -> None:
        kept = self.kept_by_people()
        self.regrant()
        assert {key: self.ours(self.ledger.rows[key]) for key in kept} == kept
        assert {number: self.ranger.policies[number] for number in self.theirs} == self.theirs
        for life in self.ledger.rows.values():
            if life.is_open and life.state not in DOUBTED_STATES and self.follows(life):
                self.judge(life)
        groups = [(GrantGroup.of(life), 1) for life in self.ledger.rows.values()]
        planning = self.configured.planning
        assert outdated_grants(groups, planning.gives, planning.terms).total == 0
        found = [finding.drift for facts in self.facts() for finding in drift_of(facts, planning)]
        assert Drift.OUTDATED not in found
        self.look()  # the next run reads what others have on deleted entities
        before = (dict(self.ledger.rows), dict(self.ranger.policies))
        self.regrant()
        assert (self.ledger.rows, self.ranger.policies) == before, "a second regrant does nothing"

    def teardown(self) -> None:
        if not sys.exc_info()[0]:
            self.regrant_and_judge()

    def judge(self, life: Life) -> None:
        """As if the life had just begun, in an empty Ranger; what people added stays beside it."""
        new = self.decided(Life(life.entity, life.number, life.creator, life.begun, State.PENDING, copy=life.copy))
        (step,) = plan([new], self.configured.planning) if new.state is State.PENDING else (None,)
        there = self.ours(life)
        wanted = rights_in(step.policy) if isinstance(step, CreateGrant) else set()
        given = rights_in(there) if there is not None else set()
        added = {each for each in given if each[0] == "mallory"}
        assert given - added == wanted, life
        if isinstance(step, CreateGrant) and not added:
            assert there is not None
            assert content_of(there) == content_of(step.policy), life

    def follows(self, life: Life) -> bool:
        if any(one.state is State.CLOSING for one in self.lives(life.entity)):
            return False  # the deletion comes first
        return life.creator is not None and (life.entity, life.number) not in self.decided_by_people

    def kept_by_people(self) -> dict[tuple[EntityId, int], Policy | None]:
        lives = (self.ledger.rows[key] for key in self.decided_by_people if key in self.ledger.rows)
        return {
            (life.entity, life.number): self.ours(life)
            for life in lives
            if life.is_open and life.state not in DOUBTED_STATES
        }

    def regrant(self) -> None:
        configured = self.configured
        self.look()
        policies = self.ranger.list_policies(configured.planning.service)
        self.ledger.record(regrants(self.ledger, self.ranger, configured.planning, policies))
        self.push()

    # What all of them use.

    def look(self) -> None:
        self.ledger.record(look_at(self.ledger, self.ranger, self.configured.planning).changed)

    def decided(self, life: Life) -> Life:
        """As the fold decides."""
        planning = self.configured.planning
        accesses = planning.gives[life.entity.type]
        if not accesses:
            return replace(life, state=State.KNOWN, reason=NO_ACCESS_TO_TYPE, terms=planning.terms)
        return replace(life, accesses=accesses, terms=planning.terms)

    def push(self) -> None:
        self.interrupted = True
        configured, executor = self.configured, StepExecutor(1, 0.0)
        found = pushed_by(self.ledger, self.ranger, configured.planning, executor=executor)
        assert found.trouble == ""
        self.interrupted = False

    @contextmanager
    def killed(self, after: int) -> Iterator[None]:
        self.ranger.lives = after
        try:
            with suppress(Killed):
                yield
        finally:
            self.ranger.lives = -1

    def wanted_again(self, life: Life) -> None:
        """A person undoes what a person did, unless the policy they edited or deleted is still the life's."""
        if self.ours(life) is None and life.policy_id < 0:
            self.decided_by_people.discard((life.entity, life.number))

    def override(self, changes: list[LedgerChange]) -> None:
        self.ledger.rows = {(life.entity, life.number): life for life in changed(self.ledger.rows.values(), changes)}

    def put(self, life: Life) -> None:
        self.ledger.rows[life.entity, life.number] = life

    def now(self) -> Position:
        self.time += 1
        return Position(self.time, False, "test", str(self.time))

    def lives(self, entity: EntityId) -> list[Life]:
        return [life for (where, _), life in sorted(self.ledger.rows.items()) if where == entity]

    def current(self, entity: EntityId) -> Life | None:
        return next((life for life in self.lives(entity) if life.is_open), None)

    def ours(self, life: Life) -> Policy | None:
        return self.ranger.policy_by_guid("cdapdev", guid_of(life, "cdap"))

    def facts(self) -> list[Facts]:
        return survey(self.ledger.rows.values(), self.ranger.policies.values(), None, self.configured.planning)


Regrants.TestCase.settings = settings(max_examples=100, stateful_step_count=20)
TestRegrants = pytest.mark.slow(Regrants.TestCase)


DATASET: Final = ENTITIES[-1]


def world(profile: str) -> Regrants:
    """All entities were granted to alice by that profile."""
    made = Regrants()
    made.begin(configured=Configured(profile, False, ""), users=("alice",) * len(ENTITIES), sent=True)
    return made


def rights_in(policy: Policy) -> set[tuple[str, str, bool]]:
    """Who may do what, and whether they may pass it on."""
    return {
        (who, access.type, item.delegate_admin)
        for item in policy.policy_items
        for who in (*item.users, *item.groups)
        for access in item.accesses
    }


def through(made: Regrants, *profiles: str) -> None:
    for name in profiles:
        made.configure(configured=Configured(name, False, ""))
        made.regrant_and_judge()


def test_every_profile_after_every_other_gives_what_it_alone_would() -> None:
    for former in profile_names():
        for now in profile_names():
            through(world(former), now)


@pytest.mark.parametrize("edit", ["narrow", "disable", "delete"])
def test_a_right_that_a_person_took_stays_taken_through_every_profile(edit: str) -> None:
    made = world("default")
    made.change_by_hand(entity=DATASET, edit=edit)
    through(made, "004", "001", "004", "default")
    assert made.current(DATASET).state is State.BLOCKED
    assert made.current(DATASET).reason.startswith("taken: ")


def test_what_a_person_added_stays_beside_what_every_profile_gives() -> None:
    made = world("default")
    made.change_by_hand(entity=DATASET, edit="widen")
    widened = made.ours(made.current(DATASET))
    for profile in ("004", "001", "004", "default"):
        through(made, profile)
        there = made.ranger.policies[widened.id]
        assert ("mallory", "read", False) in rights_in(there)
        assert there.is_enabled
    assert made.current(DATASET).state is State.APPLIED


@pytest.mark.parametrize("action", [RepairAction.ADOPT, RepairAction.RELEASE])
@pytest.mark.parametrize("edit", ["narrow", "disable", "delete"])
def test_a_settled_change_by_hand_outlives_profiles_and_doubts(edit: str, action: RepairAction) -> None:
    made = world("default")
    made.change_by_hand(entity=DATASET, edit=edit)
    made.settle_drift(action=action)
    left = made.ours(made.current(DATASET))
    through(made, "004", "001", "default")
    assert made.ours(made.current(DATASET)) == left
    made.doubt_or_believe_again(entity=DATASET)
    made.doubt_or_believe_again(entity=DATASET)
    through(made, "004", "default")
    assert made.ours(made.current(DATASET)) == left
    for _ in range(2):
        made.doubt_or_believe_again(entity=DATASET)
        made.run()
    assert made.ours(made.current(DATASET)) in (left, None)


@pytest.mark.parametrize("after", range(9))
def test_a_killed_regrant_is_finished_by_the_next_even_by_other_settings(after: int) -> None:
    for former, between, now in product(("default", "001", "004"), repeat=3):
        if former == between:
            continue
        made = world(former)
        made.configure(configured=Configured(between, True, ""))
        made.killed_regrant(after=after)
        through(made, now)


def test_a_grant_whose_settings_are_not_recorded_follows_them_unless_it_was_edited() -> None:
    made = world("default")
    forget_terms(made)
    through(made, "001")
    forget_terms(made)
    made.change_by_hand(entity=DATASET, edit="widen")
    policy = made.ours(made.current(DATASET))
    adopted = replace(made.current(DATASET), written=content_of(policy), terms=None)
    made.ledger.rows[DATASET, 1] = adopted
    made.decided_by_people.add((DATASET, 1))
    through(made, "default")
    assert made.ours(made.current(DATASET)) == policy


def forget_terms(made: Regrants) -> None:
    rows = made.ledger.rows.items()
    made.ledger.rows = {key: replace(life, terms=None if life.applied else life.terms) for key, life in rows}
