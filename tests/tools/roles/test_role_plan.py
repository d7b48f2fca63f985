"""Laws of plans for roles, over drawn policies, roles and members; a plan is carried out on a Ranger made of values."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.ranger.changes.role_members import RoleMembers
from ranger_cdap.ranger.changes.setup_rights import DELEGATION, reconcile
from ranger_cdap.ranger.changes.step import StepChange
from ranger_cdap.ranger.client.ranger_roles import RoleRecord
from ranger_cdap.ranger_model.decode import decode_policy
from ranger_cdap.ranger_model.role import RoleMember
from ranger_cdap.tools.roles.role_plan import (
    ROLE_LABEL,
    FoundRoles,
    RoleRights,
    WantedRole,
    departure,
    plan,
    removal,
)
from tests.ranger.changes.value_ranger import Json, ValueRanger

PLACES = ({"namespace": "a"}, {"namespace": "a", "dataset": "?*"}, {"namespace": "b"})
NAMES = ("writers", "readers")
RIGHTS = ("read", "write", "admin", "execute", DELEGATION)


def levels(place: dict[str, str]) -> Json:
    return {name: {"values": [value]} for name, value in place.items()}


def rights_of(ranger: ValueRanger, role: str, place: dict[str, str]) -> set[str]:
    given: set[str] = set()
    for policy in ranger.policies:
        if policy["resources"] == levels(place) and policy.get("isEnabled", True):
            for item in policy.get("policyItems", []):
                if role in item.get("roles", []) and not item.get("conditions"):
                    given |= {one["type"] for one in item.get("accesses", [])}
                    given |= {DELEGATION} if item.get("delegateAdmin") else set()
    return given


def without_ours(policy: Json) -> Json:
    """A policy without the items and labels of the roles of these tests."""
    kept = [item for item in policy.get("policyItems", []) if not set(item.get("roles", [])) & set(NAMES)]
    labels = [one for one in policy.get("policyLabels", []) if not one.startswith(f"{ROLE_LABEL}:")]
    return {**policy, "policyItems": kept, "policyLabels": labels}


accesses = st.lists(st.sampled_from(RIGHTS[:4]), min_size=1, max_size=3, unique=True)
item = st.builds(
    lambda types, users, delegate: {
        "users": users,
        "accesses": [{"type": one, "newInRanger3": 1} for one in types],
        "delegateAdmin": delegate,
        "unknown": {"kept": True},
    },
    accesses,
    st.lists(st.sampled_from(["ann", "bob"]), min_size=1, unique=True),
    st.booleans(),
)
manual = st.builds(
    lambda places, contents: [
        {"id": number, "name": f"manual {number}", "resources": levels(place), "policyItems": content, "x": [number]}
        for number, (place, content) in enumerate(zip(places, contents, strict=False), 1)
    ],
    st.permutations(PLACES),
    st.lists(st.lists(item, max_size=2), max_size=2),
)
members = st.builds(
    RoleMembers,
    *(st.lists(st.sampled_from([f"{kind}1", f"{kind}2"]), unique=True, max_size=2).map(tuple) for kind in "ug"),
)
rights = st.dictionaries(st.sampled_from(range(len(PLACES))), st.frozensets(st.sampled_from(RIGHTS), min_size=1))


def wanted(name: str, given: dict[int, frozenset[str]], who: RoleMembers = RoleMembers()) -> WantedRole:  # noqa: B008
    some = [RoleRights(f"roles: {PLACES[number]}", PLACES[number], one) for number, one in given.items()]
    return WantedRole(name, f"Made for {name}.", who, tuple(some))


@given(manual, rights, rights, members, members, st.integers(0, 9))
def test_after_a_plan_roles_have_their_rights_and_the_next_changes_nothing(
    policies: list[Json],
    first: dict[int, frozenset[str]],
    second: dict[int, frozenset[str]],
    some: RoleMembers,
    others: RoleMembers,
    stop: int,
) -> None:
    ranger = ValueRanger(policies=policies)
    roles = [wanted("writers", first, some), wanted("readers", second, others)]
    ranger.carry_out(plan(roles, ranger.found), stop_after=stop)
    ranger.carry_out(plan(roles, ranger.found))
    assert not [step for step in plan(roles, ranger.found) if step.change is not StepChange.KEEP]
    for role in roles:
        there = RoleMembers.of(ranger.roles[role.name])
        assert not role.members - there
        assert not there - role.members
        for number, place in enumerate(PLACES):
            given_there = next((one.accesses for one in role.rights if one.resource == place), frozenset())
            assert rights_of(ranger, role.name, place) == given_there, (role.name, number)


@given(manual, rights, rights, members, st.integers(0, 9))
def test_removal_leaves_what_was_there_before_and_what_others_have(
    policies: list[Json],
    first: dict[int, frozenset[str]],
    second: dict[int, frozenset[str]],
    some: RoleMembers,
    stop: int,
) -> None:
    ranger = ValueRanger(policies=list(policies))
    one, other = wanted("writers", first, some), wanted("readers", second)
    ranger.carry_out(plan([one, other], ranger.found))
    ranger.carry_out(removal([one], ranger.found), stop_after=stop)
    ranger.carry_out(removal([one], ranger.found))
    assert removal([one], ranger.found) == ()
    assert set(ranger.roles) == {"readers"}
    for place in PLACES:
        assert rights_of(ranger, "writers", place) == set()
    assert not [step for step in plan([other], ranger.found) if step.changes]
    ranger.carry_out(removal([other], ranger.found))
    by_id = {policy["id"]: without_ours(policy) for policy in ranger.policies}
    assert by_id == {policy["id"]: {**policy, "policyLabels": []} for policy in policies} or by_id == {
        policy["id"]: without_ours(policy) for policy in policies
    }
    assert ranger.roles == {}


@given(manual, rights, rights)
def test_rights_that_are_no_longer_wanted_are_taken_away(
    policies: list[Json], first: dict[int, frozenset[str]], second: dict[int, frozenset[str]]
) -> None:
    ranger = ValueRanger(policies=policies)
    for given_now in (first, second):
        ranger.carry_out(plan([wanted("writers", given_now)], ranger.found))
        for number, place in enumerate(PLACES):
            assert rights_of(ranger, "writers", place) == given_now.get(number, frozenset())


@given(manual, rights, members, st.sampled_from(["", "by hand", "Made for writers", "Made for readers."]))
def test_a_role_of_others_and_all_policies_stay_as_they_are(
    policies: list[Json], given_rights: dict[int, frozenset[str]], some: RoleMembers, description: str
) -> None:
    there = RoleRecord(name="writers", description=description, users=[RoleMember(name="zoe", is_admin=True)])
    ranger = ValueRanger({"writers": there}, policies)
    role = wanted("writers", given_rights, some)
    for steps in (plan([role], ranger.found), removal([role], ranger.found), departure(role, ranger.found)):
        assert not [step for step in steps if step.changes]
    expected = StepChange.BLOCKED if given_rights or some else StepChange.KEEP
    assert [step.change for step in plan([role], ranger.found)] == [expected]


def test_a_role_that_others_prepared_with_members_and_our_description_gets_nothing() -> None:
    prepared = RoleRecord(name="writers", description="Made for writers.", users=[RoleMember(name="mallory")])
    role = wanted("writers", {0: frozenset({"read"})}, RoleMembers(users=("u1",)))
    [step] = plan([role], FoundRoles({"writers": prepared}, []))
    assert step.change is StepChange.BLOCKED
    assert "user `mallory`" in step.detail


def test_members_that_people_added_are_shown_with_every_plan() -> None:
    ranger = ValueRanger()
    role = wanted("writers", {0: frozenset({"read"})}, RoleMembers(users=("u1",)))
    ranger.carry_out(plan([role], ranger.found))
    ranger.roles["writers"].users.append(RoleMember(name="mallory"))
    [kept] = plan([role], ranger.found)
    assert kept.detail == "it has these members and rights; it also has user `mallory`"
    [more] = plan([replace(role, members=RoleMembers(users=("u1", "u2")))], ranger.found)
    assert (more.adds, more.detail) == (RoleMembers(users=("u2",)), "add user `u2`; it also has user `mallory`")


def test_a_note_behind_the_description_leaves_a_role_ours() -> None:
    there = RoleRecord(name="writers", description="Made for writers. Ask zoe first.")
    role = wanted("writers", {0: frozenset({"read"})})
    assert [step.change for step in plan([role], FoundRoles({"writers": there}, []))] == [StepChange.CREATE]
    assert [step.change for step in removal([role], FoundRoles({"writers": there}, []))] == [StepChange.DELETE]


def test_a_role_of_others_that_is_exactly_as_wanted_is_kept() -> None:
    there = RoleRecord(name="writers", description="by hand", users=[RoleMember(name="u1")])
    policy = {
        "id": 1,
        "name": "mine",
        "resources": levels(PLACES[0]),
        "policyItems": [{"roles": ["writers"], "accesses": [{"type": "read"}]}],
    }
    ranger = ValueRanger({"writers": there}, [policy])
    role = wanted("writers", {0: frozenset({"read"})}, RoleMembers(users=("u1",)))
    assert [step.change for step in plan([role], ranger.found)] == [StepChange.KEEP]


IN_THE_WAY = [
    ("conditions", {"conditions": [{"type": "ip", "values": ["10.0.0.1"]}]}, "has conditions"),
    ("disabled, of that name", {"isEnabled": False, "name": f"roles: {PLACES[0]}"}, "is not in effect"),
    ("of another resource and that name", {"resources": levels(PLACES[2]), "name": f"roles: {PLACES[0]}"}, "rename or"),
    ("with a schedule, of that name", {"validitySchedules": [{}], "name": f"roles: {PLACES[0]}"}, "is not in effect"),
]


@pytest.mark.parametrize(("changes", "said"), [row[1:] for row in IN_THE_WAY], ids=[row[0] for row in IN_THE_WAY])
def test_an_obstacle_blocks_the_role_alone_and_says_which_policy(changes: Json, said: str) -> None:
    policy = {"id": 7, "name": "mine", "resources": levels(PLACES[0]), "policyItems": [], **changes}
    ranger = ValueRanger(policies=[policy])
    blocked = wanted("writers", {0: frozenset({"read"}), 1: frozenset({"read"})}, RoleMembers(users=("u1",)))
    free = wanted("readers", {1: frozenset({"read"})})
    steps = plan([blocked, free], ranger.found)
    [obstacle] = [step for step in steps if step.change is StepChange.BLOCKED]
    assert obstacle.name == "writers"
    assert "policy 7" in obstacle.detail
    assert said in obstacle.detail
    ranger.carry_out(steps)
    assert set(ranger.roles) == {"readers"}
    assert rights_of(ranger, "writers", PLACES[1]) == set()


def test_policies_of_a_zone_and_disabled_ones_do_not_stand_for_a_resource() -> None:
    others: list[Json] = [
        {"id": 1, "name": "z", "zoneName": "eu", "resources": levels(PLACES[0]), "policyItems": []},
        {"id": 2, "name": "d", "isEnabled": False, "resources": levels(PLACES[0]), "policyItems": []},
        {"id": 3, "name": "m", "policyType": 1, "resources": levels(PLACES[0]), "policyItems": []},
    ]
    steps = plan([wanted("writers", {0: frozenset({"read"})})], FoundRoles({}, others))
    assert [(step.change.value, step.subject) for step in steps] == [
        ("create", "role `writers`"),
        ("create", f"policy `roles: {PLACES[0]}`"),
    ]


def test_what_a_person_adds_to_the_item_of_a_role_stays_when_the_role_goes() -> None:
    ranger = ValueRanger()
    role = wanted("writers", {0: frozenset({"read"})})
    ranger.carry_out(plan([role], ranger.found))
    [policy] = ranger.policies
    policy["policyItems"][0] |= {"users": ["ann"], "accesses": [{"type": "read"}, {"type": "write"}]}
    steps = removal([role], ranger.found)
    assert "names it for other rights" in steps[-1].detail
    ranger.carry_out(steps)
    kept = [
        (one.get("users", []), one.get("roles", []), [access["type"] for access in one["accesses"]])
        for one in ranger.policies[0]["policyItems"]
    ]
    assert kept == [(["ann"], [], ["read", "write"]), ([], ["writers"], ["write"])]


def test_a_policy_whose_label_a_person_took_off_is_not_deleted() -> None:
    ranger = ValueRanger()
    role = wanted("writers", {0: frozenset({"read"})})
    ranger.carry_out(plan([role], ranger.found))
    ranger.policies[0]["policyLabels"].remove(ROLE_LABEL)
    ranger.carry_out(removal([role], ranger.found))
    assert [one["policyItems"] for one in ranger.policies] == [[]]


def test_a_deny_in_a_policy_made_for_roles_keeps_it() -> None:
    ranger = ValueRanger()
    role = wanted("writers", {0: frozenset({"read"})})
    ranger.carry_out(plan([role], ranger.found))
    ranger.policies[0]["denyPolicyItems"] = [{"users": ["ann"], "accesses": [{"type": "write"}]}]
    ranger.carry_out(removal([role], ranger.found))
    assert len(ranger.policies) == 1


def test_setup_and_roles_do_not_take_each_other_s_records_for_their_own() -> None:
    by_setup = "cdap-setup:read:user:ann"
    given_by_setup = {"users": ["ann"], "accesses": [{"type": "read"}]}
    policy = {
        "id": 1,
        "name": "instance",
        "resources": levels(PLACES[0]),
        "policyItems": [given_by_setup],
        "policyLabels": [by_setup],
    }
    ranger = ValueRanger(policies=[policy])
    role = wanted("writers", {0: frozenset({"write"})})
    ranger.carry_out(plan([role], ranger.found))
    [both] = ranger.policies
    assert both["policyLabels"] == [by_setup, f"{ROLE_LABEL}:write:role:writers"]
    after_setup = reconcile(decode_policy(msgspec.json.encode(both)), {})
    assert after_setup.policy_labels == [f"{ROLE_LABEL}:write:role:writers"]
    assert [(item.users, item.roles) for item in after_setup.policy_items] == [([], ["writers"])]
    ranger.carry_out(removal([role], ranger.found))
    assert ranger.policies == [policy]


def test_members_leave_and_nothing_else_changes() -> None:
    ranger = ValueRanger()
    role = wanted("writers", {0: frozenset({"read"})}, RoleMembers(users=("u1", "u2"), groups=("g1",)))
    ranger.carry_out(plan([role], ranger.found))
    policies = list(ranger.policies)
    leaving = replace(role, members=RoleMembers(users=("u1", "stranger"), groups=("g1",)))
    ranger.carry_out(departure(leaving, ranger.found))
    assert RoleMembers.of(ranger.roles["writers"]) == RoleMembers(users=("u2",))
    assert ranger.policies == policies
    assert departure(leaving, ranger.found) == ()
    assert departure(leaving, FoundRoles({}, [])) == ()


@pytest.mark.parametrize("junk", [{"policyItems": None}, {"policyLabels": None}, {"policyItems": [None]}])
def test_nulls_of_ranger_in_a_policy_are_no_obstacle(junk: Json) -> None:
    policy = {"id": 1, "name": "mine", "resources": levels(PLACES[0]), **junk}
    role = wanted("writers", {0: frozenset({"read"})})
    steps = plan([role], FoundRoles({}, [policy]))
    assert [step.subject for step in steps] == ["role `writers`", "policy `mine`"]
    msgspec.json.encode(steps[1].wanted)
