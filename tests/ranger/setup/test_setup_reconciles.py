"""Administrators in Ranger are those of the settings and those that people added there, and no others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.ranger.changes.step import Step, StepChange
from ranger_cdap.ranger.setup.service_setup import plan
from ranger_cdap.ranger.setup.setup_state import CurrentState, DesiredState
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyItemCondition, PolicyResource
from servicedef import AUDIT_FILTERS, service_definition

ACCESSES: Final = ("read", "write", "admin", "execute")
ADMINISTRATOR: Final = frozenset({"read", "write", "admin"})
MASTER: Final = frozenset({"read", "write"})
USERS: Final = ("ann", "bob", "carol", "cdap")
LIST: Final = "service.admin.users"


@dataclass
class Ranger:
    """Policies and settings of the service as Ranger has them after each `setup` and each edit by hand."""

    policies: list[Policy] = field(default_factory=list)
    configs: dict[str, str] | None = None

    @property
    def state(self) -> CurrentState:
        service = {"id": 1, "name": "cdapdev", "type": "cdap", "configs": self.configs}
        return CurrentState(service_definition(), service if self.configs is not None else None, self.policies)

    def setup(self, wanted: DesiredState) -> list[Step]:
        """Carry out the plan, and return the steps that change something."""
        changes = (StepChange.CREATE, StepChange.UPDATE)
        steps = [step for step in plan(wanted, self.state) if step.change in changes]
        for step in steps:
            body = step.wanted or {}
            match step.kind, step.change:
                case "service", _:
                    self.configs = body["configs"]
                case "policy", StepChange.CREATE:
                    self.policies.append(replaced(msgspec.convert(body, Policy), id=len(self.policies) + 1))
                case "policy", _:
                    self.put(msgspec.convert(body, Policy))
        return steps

    def put(self, policy: Policy) -> None:
        self.policies = [policy if policy.id == one.id else one for one in self.policies]

    def on_instance(self) -> Policy:
        """The policy on the instance; a person makes it if there is none."""
        found = next((policy for policy in self.policies if list(policy.resources) == ["instance"]), None)
        if found is None:
            resources = {"instance": PolicyResource(values=["cdap"])}
            found = Policy(id=len(self.policies) + 1, service="cdapdev", name="by hand", resources=resources)
            self.policies.append(found)
        return found

    def rights(self) -> dict[str, frozenset[str]]:
        """The rights of everybody on the instance, as the engine decides."""
        document = {"serviceName": "cdapdev", "policyVersion": 1, "serviceDef": service_definition()}
        engine = PolicyEngine.build(
            decode_service_policies(msgspec.json.encode({**document, "policies": self.policies}))
        )

        def of(user: str, groups: Collection[str] = ()) -> frozenset[str]:
            asked = {a: AccessRequest({"instance": "cdap"}, a, user, frozenset(groups)) for a in ACCESSES}
            return frozenset(access for access, request in asked.items() if engine.evaluate(request).allowed)

        return {**{user: of(user) for user in USERS}, "ops": of("nobody", ["ops"])}

    def listed(self) -> set[str]:
        return set(filter(None, (self.configs or {}).get(LIST, "").split(",")))


def item(accesses: Iterable[str], users: Sequence[str], **more: Any) -> PolicyItem:
    return PolicyItem(users=list(users), accesses=[PolicyItemAccess(type=access) for access in accesses], **more)


def wanted(*admins: str, **more: Any) -> DesiredState:
    return DesiredState("cdapdev", "cdap", admin_users=admins, **more)


def test_who_replaces_an_administrator_gets_the_rights_and_the_former_one_loses_them() -> None:
    ranger = Ranger()
    ranger.setup(wanted("ann", master_user="cdap"))
    steps = ranger.setup(wanted("bob", master_user="cdap"))

    assert ranger.rights() == {"ann": set(), "bob": ADMINISTRATOR, "carol": set(), "cdap": MASTER, "ops": set()}
    assert ranger.listed() == {"bob"}
    assert list(map(str, steps)) == [
        "update service `cdapdev`: service.admin.users = bob; remove ann from service.admin.users",
        "update policy `instance cdap`: policy 1: give read, write, admin for bob; revoke read, write, admin for ann",
    ]


# what people did after `setup` for ann, and the rights on the instance after the next one for bob
BY_HAND: dict[str, tuple[Callable[[Policy], Policy], dict[str, frozenset[str]]]] = {
    "a user was added to the same item": (
        lambda p: replaced(p, policy_items=[item(ADMINISTRATOR, ["ann", "carol"])]),
        {"carol": ADMINISTRATOR},
    ),
    "the same rights once more in another item": (
        lambda p: replaced(p, policy_items=[*p.policy_items, item(ADMINISTRATOR, ["ann"])]),
        {"ann": ADMINISTRATOR},
    ),
    "another right in another item": (
        lambda p: replaced(p, policy_items=[item(["execute"], ["ann"]), *p.policy_items]),
        {"ann": frozenset({"execute"})},
    ),
    "another right in the same item": (
        lambda p: replaced(p, policy_items=[item(ACCESSES, ["ann"])]),
        {"ann": frozenset({"execute"})},
    ),
    "the item was cut": (
        lambda p: replaced(p, policy_items=[item(["read"], ["ann"])]),
        {"ann": frozenset({"read"})},
    ),
    "the user was removed": (lambda p: replaced(p, policy_items=[]), {}),
    "the order of labels": (lambda p: replaced(p, policy_labels=["theirs", *p.policy_labels]), {}),
}


@pytest.mark.parametrize(("edit", "kept"), BY_HAND.values(), ids=BY_HAND)
def test_what_people_wrote_in_the_policy_stays(
    edit: Callable[[Policy], Policy], kept: dict[str, frozenset[str]]
) -> None:
    ranger = Ranger()
    ranger.setup(wanted("ann"))
    ranger.put(edit(ranger.on_instance()))
    ranger.setup(wanted("bob"))
    nothing = dict.fromkeys((*USERS, "ops"), frozenset[str]())
    assert ranger.rights() == {**nothing, "bob": ADMINISTRATOR, **kept}
    assert ranger.setup(wanted("bob")) == []
    assert [label for label in ranger.on_instance().policy_labels if "theirs" in label] == ["theirs"] * (
        edit is BY_HAND["the order of labels"][0]
    )


def test_who_has_the_rights_by_people_is_given_nothing() -> None:
    ranger = Ranger(configs={LIST: "ann", AUDIT_FILTERS: "[]"})
    ranger.put(
        replaced(ranger.on_instance(), policy_items=[item(["read", "write"], ["ann"]), item(["admin"], ["ann"])])
    )
    assert ranger.setup(wanted("ann")) == []


def test_the_master_user_and_what_it_may_create_follow_the_settings() -> None:
    ranger = Ranger()
    ranger.setup(wanted("ann", master_user="cdap", master_may_create=True))
    ranger.setup(wanted("ann", master_user="carol"))
    holders = {
        (*p.resources,): [(i.users, [a.type for a in i.accesses]) for i in p.policy_items] for p in ranger.policies
    }
    assert holders["instance", "namespace", "dataset"] == [(["carol"], ["read", "write"])]
    assert holders["instance", "namespace", "dataset_type"] == [(["carol"], ["read"])]
    assert not any("cdap" in users for items in holders.values() for users, _ in items)
    assert ranger.setup(wanted("ann", master_user="carol")) == []


CONDITION = PolicyItemCondition(type="_expression", values=["false"])
# policies on the instance that give nothing more, the change of the step, and what it says
UNUSABLE: dict[str, tuple[dict[str, Any], str]] = {
    "conditions": ({"conditions": [CONDITION]}, "add manually what is missing: read, write, admin for bob"),
    "disabled": ({"is_enabled": False}, "has this name, and is not in effect for this resource"),
    "override": ({"policy_priority": 1}, "has this name, and is not in effect for this resource"),
    "another resource": (
        {"resources": {"instance": PolicyResource(values=["cdap", "other"])}},
        "has this name, and is not in effect for this resource",
    ),
}


@pytest.mark.parametrize(("edit", "said"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_policy_that_decides_otherwise_gets_nothing_and_a_person_is_asked(edit: dict[str, Any], said: str) -> None:
    ranger = Ranger()
    ranger.setup(wanted())
    ranger.policies.append(
        replaced(
            Policy(id=1, service="cdapdev", name="instance cdap"),
            **{"resources": {"instance": PolicyResource(values=["cdap"])}, **edit},
        )
    )
    (step,) = (step for step in plan(wanted("bob"), ranger.state) if step.kind == "policy")
    assert step.change is StepChange.BLOCKED
    assert said in step.detail
    assert msgspec.convert(step.there, Policy) == ranger.policies[0]


def test_a_disabled_policy_still_loses_what_setup_gave() -> None:
    """Enabling it again must not bring back an administrator of last year."""
    ranger = Ranger()
    ranger.setup(wanted("ann"))
    ranger.put(replaced(ranger.on_instance(), is_enabled=False))
    ranger.setup(wanted())
    ranger.put(replaced(ranger.on_instance(), is_enabled=True))
    assert ranger.rights()["ann"] == set()


def test_a_policy_of_people_on_the_instance_gets_an_item_beside_theirs() -> None:
    ranger = Ranger(configs={})
    before = replaced(ranger.on_instance(), policy_items=[item(["execute"], ["ann", "carol"])], description="theirs")
    ranger.put(before)
    ranger.setup(wanted("ann"))
    assert ranger.on_instance().policy_items[0] == before.policy_items[0]
    assert ranger.rights()["ann"] == {*ADMINISTRATOR, "execute"}
    ranger.setup(wanted())
    assert ranger.on_instance() == before


Names = st.lists(st.sampled_from(USERS[:3]), unique=True).map(tuple)
Setups = st.builds(
    DesiredState,
    st.just("cdapdev"),
    st.just("cdap"),
    admin_users=Names,
    admin_groups=st.sampled_from([(), ("ops",)]),
    master_user=st.sampled_from(["", "cdap", "ann"]),
)


@dataclass(frozen=True)
class Add:
    """A person gives a user rights in an item of its own, or adds the user to the first item."""

    user: str
    accesses: frozenset[str]
    to_the_first: bool


@dataclass(frozen=True)
class Extend:
    """A person adds EXECUTE to the first item."""


@dataclass(frozen=True)
class Remove:
    """A person removes a user from every item."""

    user: str


Edits = st.one_of(
    st.builds(Add, st.sampled_from(USERS), st.frozensets(st.sampled_from(ACCESSES), min_size=1), st.booleans()),
    st.just(Extend()),
    st.builds(Remove, st.sampled_from(USERS)),
)


def by_person(ranger: Ranger, edit: Add | Extend | Remove, theirs: dict[str, frozenset[str]]) -> None:
    """Edit the policy on the instance as a person does, and remember what that person gave."""
    policy = ranger.on_instance()
    items = list(policy.policy_items)
    match edit:
        case Add(user, accesses, to_the_first) if to_the_first and items:
            if user not in items[0].users:
                theirs[user] |= items[0].access_types()
                items[0] = replaced(items[0], users=[*items[0].users, user])
        case Add(user, accesses):
            theirs[user] |= accesses
            items.append(item(accesses, [user]))
        case Extend():
            for name in (*items[0].users, *items[0].groups) if items else ():
                theirs[name] |= {"execute"}
            items = [
                replaced(
                    one, accesses=[*one.accesses, PolicyItemAccess(type="execute")] * (number == 0) or one.accesses
                )
                for number, one in enumerate(items)
            ]
        case Remove(user):
            theirs[user] = frozenset()
            items = [replaced(one, users=[name for name in one.users if name != user]) for one in items]
            items = [one for one in items if one.users or one.groups]
    ranger.put(replaced(policy, policy_items=items))


@given(st.lists(st.tuples(st.lists(Edits, max_size=3), Setups), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_after_setup_rights_are_those_of_the_settings_and_of_people(
    rounds: list[tuple[list[Any], DesiredState]],
) -> None:
    """A user whom people remove and add again between two runs has not changed: such pairs are left out."""
    ranger = Ranger(configs={})
    theirs = dict.fromkeys((*USERS, "ops"), frozenset[str]())
    for edits, now in rounds:
        removed = set[str]()
        for edit in edits:
            if isinstance(edit, Add) and edit.user in removed:
                continue
            if isinstance(edit, Remove):
                removed.add(edit.user)
            by_person(ranger, edit, theirs)
        ranger.setup(now)
        named = {
            name: ADMINISTRATOR
            if name in (*now.admin_users, *now.admin_groups)
            else MASTER
            if name == now.master_user
            else frozenset[str]()
            for name in theirs
        }
        assert ranger.rights() == {name: named[name] | theirs[name] for name in theirs}
        assert ranger.setup(now) == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["cdap", "other"]),
            Names,
            st.sampled_from([("", "ann"), ("ann", ""), ("", "bob"), ("bob", ""), ("", "")]),
        ),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=40, deadline=None)
def test_the_list_of_the_service_has_those_of_every_instance_and_of_people(
    rounds: list[tuple[str, tuple[str, ...], tuple[str, str]]],
) -> None:
    ranger, theirs = Ranger(), set[str]()
    states = {name: DesiredState("cdapdev", name, sync_account="sync") for name in ("cdap", "other")}
    for name in states:
        ranger.setup(states[name])
    for instance, admins, (added, removed) in rounds:
        listed = ranger.listed()
        theirs = (theirs | {added} - listed - {""}) - {removed}
        assert ranger.configs is not None
        ranger.configs = {**ranger.configs, LIST: ",".join(sorted((listed | {added}) - {removed, ""}))}
        states[instance] = replace(states[instance], admin_users=admins)
        for wanted in states.values():
            ranger.setup(wanted)
        assert ranger.listed() == {"sync", *states["cdap"].admin_users, *states["other"].admin_users, *theirs}
        assert [ranger.setup(wanted) for wanted in states.values()] == [[], []]
