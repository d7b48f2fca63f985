"""Callers with any rights change roles and grants in any order: none gives more than they could give directly.

The judge of a right to grant is the embedded Ranger's own rule of delegation, over the policies as they are in Ranger,
beside ADMIN and the access itself by the engine; it shares nothing with the bridge's own check of delegation.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from ranger_cdap.ranger_model.policy import PolicyItem, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin
from ranger_cdap.testing.admin.rules.grant_rules import may_delegate
from tests.authz.fixtures import Json
from tests.service.grants.role_world import RoleWorld, role_server, role_world
from tests.service.grants.test_grants import GET, SERVICE, UPDATE, item, request, user

pytestmark = pytest.mark.slow

ACCESSES = ("read", "write")
DATASETS = ("a", "b")
PERMISSION = {"read": GET, "write": UPDATE}
MADE, FOREIGN = ("r1",), "hive"
MEMBERS: list[Json] = [user("bob"), user("carol"), user("crew", "GROUP")]

CALLERS = ("alice", "carol", "dave")
WATCHED = ("alice", "bob", "carol", "dave")

callers = st.sampled_from(("alice", *CALLERS))
names = st.sampled_from((*MADE * 3, FOREIGN))
Access = tuple[str, str, str]


class RolesByManyCallers(RuleBasedStateMachine):
    """Rights drawn at the beginning, then any changes by anyone."""

    server: EmbeddedAdmin
    done: Counter[str]

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        directory = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.world: RoleWorld = self.stack.enter_context(role_world(self.server, directory))

    def teardown(self) -> None:
        self.stack.close()

    @initialize(
        admins=st.sets(callers, min_size=1),
        rights=st.lists(
            st.tuples(
                st.sampled_from((*DATASETS, "?*")),
                callers,
                st.sets(st.sampled_from((*ACCESSES, "admin")), min_size=1),
                st.booleans(),
            ),
            max_size=6,
        ),
        granted=st.booleans(),
    )
    def begin(self, admins: set[str], rights: list[tuple[str, str, set[str], bool]], granted: bool) -> None:
        self.world.write({"instance": "cdap"}, *(item(name, "admin") for name in sorted({"alice", *admins})))
        # Without these two hardly anything is ever done.
        owners = (("a", "alice"), ("b", "carol"))
        by_dataset = {dataset: [item(name, *ACCESSES, "admin", delegate=True)] for dataset, name in owners}
        for dataset, name, accesses, delegate in rights:
            by_dataset.setdefault(dataset, []).append(item(name, *sorted(accesses), delegate=delegate))
        for dataset, items in by_dataset.items():
            self.world.write(resource(dataset), *items)
        self.world.admin.roles.create(SERVICE, FOREIGN, users=["bob"], admins=["alice"])
        self.foreign = self.world.members(FOREIGN)
        self.count("create", self.world.role("create", MADE[0], "alice"))
        self.count("add", self.world.role("add", MADE[0], "alice", MEMBERS[0]))
        if granted:
            body = request(("DATASET", "ns1", "a"), "alice", user(MADE[0], "ROLE"), [GET])
            self.count("grant", self.world.ask("grant", body))
            body = request(("DATASET", "ns1", "b"), "carol", user(MADE[0], "ROLE"), [GET])
            self.count("grant", self.world.ask("grant", body))

    @rule(by=callers, name=names)
    def create(self, by: str, name: str) -> None:
        self.change("create", by, lambda: self.world.role("create", name, by))

    @rule(by=callers, name=names)
    def drop(self, by: str, name: str) -> None:
        self.change("drop", by, lambda: self.world.role("drop", name, by))

    @rule(by=callers, name=names, member=st.sampled_from(MEMBERS))
    def add(self, by: str, name: str, member: Json) -> None:
        self.change("add", by, lambda: self.world.role("add", name, by, member))

    @rule(name=names, member=st.sampled_from(MEMBERS))
    def remove(self, name: str, member: Json) -> None:
        before = self.held()
        for by in CALLERS:
            self.count("remove", self.world.role("remove", name, by, member))
        assert self.held() <= before

    @rule(by=callers, name=names, dataset=st.sampled_from(DATASETS), access=st.sampled_from(ACCESSES))
    def grant(self, by: str, name: str, dataset: str, access: str) -> None:
        body = request(("DATASET", "ns1", dataset), by, user(name, "ROLE"), [PERMISSION[access]])
        self.change("grant", by, lambda: self.world.ask("grant", body))

    @rule(name=names, access=st.sampled_from(ACCESSES))
    def revoke(self, name: str, access: str) -> None:
        before = self.held()
        for by, dataset in itertools.product(CALLERS, DATASETS):
            body = request(("DATASET", "ns1", dataset), by, user(name, "ROLE"), [PERMISSION[access]])
            self.count("revoke", self.world.ask("revoke", body))
        assert self.held() <= before

    @rule(by=callers, name=st.sampled_from(WATCHED))
    def lists_show_no_ones_memberships(self, by: str, name: str) -> None:
        self.world.bridge.state.authorizer.refresh()
        shown = self.world.listed(by, user(name))
        if by != name and not self.administers(by):
            assert isinstance(shown, str)
        else:
            mine = {name, "crew"} if name == "dave" else {name}
            inside = {role for role in self.world.admin.roles.names(SERVICE) if mine & self.world.members(role).keys()}
            assert set(shown) <= inside

    @invariant()
    def a_role_of_others_never_changes(self) -> None:
        if hasattr(self, "foreign"):
            assert self.world.members(FOREIGN) == self.foreign

    def count(self, what: str, answer: Json) -> None:
        if answer["changed"]:
            self.done[what] += 1

    def change(self, what: str, by: str, act: Callable[[], Json]) -> None:
        """Act, and hold everything that anyone has gained against what the caller could have granted."""
        could, before = self.grantable(by), self.held()
        self.count(what, act())
        assert {(access, dataset) for _, access, dataset in self.held() - before} <= could

    def held(self) -> set[Access]:
        """Who has which access to which dataset now."""
        self.world.bridge.state.authorizer.refresh()
        return {
            (name, access, dataset)
            for name, access, dataset in itertools.product(WATCHED, (*ACCESSES, "admin"), DATASETS)
            if self.world.has_here(name, access, dataset)
        }

    def grantable(self, by: str) -> set[tuple[str, str]]:
        groups = {"crew"} if by == "dave" else set[str]()
        policies = self.world.policies()
        roles = {role.name for role in self.world.admin.roles.all() if by in {one.name for one in role.users}}

        def names_user(one: PolicyItem) -> bool:
            return by in one.users or bool(groups & set(one.groups)) or bool(roles & set(one.roles))

        return {
            (access, dataset)
            for access, dataset in itertools.product(ACCESSES, DATASETS)
            if self.world.has_here(by, access, dataset)
            and self.world.has_here(by, "admin", dataset)
            and may_delegate(policies, exact(dataset), [access], names_user, {})  # type: ignore[arg-type]
        }

    def administers(self, by: str) -> bool:
        return any(
            by in one.users
            for policy in self.world.policies()
            if policy.resources.keys() == {"instance"}
            for one in policy.policy_items
        )


def resource(dataset: str) -> dict[str, str]:
    return {"instance": "cdap", "namespace": "ns1", "dataset": dataset}


def exact(dataset: str) -> dict[str, PolicyResource]:
    return {level: PolicyResource(values=[value]) for level, value in resource(dataset).items()}


@pytest.fixture(scope="module")
def role_admin() -> Iterator[EmbeddedAdmin]:
    with role_server() as server:
        yield server


def test_no_caller_gives_by_roles_what_they_could_not_give_directly(role_admin: EmbeddedAdmin) -> None:
    RolesByManyCallers.server, RolesByManyCallers.done = role_admin, Counter()
    run_state_machine_as_test(
        RolesByManyCallers,
        settings=settings(
            max_examples=30,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.explicit, Phase.reuse, Phase.generate),  # each step takes milliseconds: too long to shrink
        ),
    )
    assert RolesByManyCallers.done.keys() >= {"create", "drop", "add", "grant"}
