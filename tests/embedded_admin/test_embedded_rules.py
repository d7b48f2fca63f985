"""The rules of the embedded Ranger Admin without HTTP: validation, signatures, markers, grants."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.embedded_admin.definitions import check_definition, complete, hierarchies, markers
from ranger_cdap.embedded_admin.documents import (
    AccessTypeDef,
    GrantRevoke,
    Policy,
    PolicyItem,
    PolicyResource,
    ServiceDef,
    to_json_object,
    without_empties,
    without_nulls,
)
from ranger_cdap.embedded_admin.grant_rules import granted, may_delegate, requested_resources, revoked
from ranger_cdap.embedded_admin.policy_rules import Neighbour, Neighbours, check_policy, signature
from ranger_cdap.embedded_admin.problems import RULES, failure_text, problem
from servicedef import hierarchies as hierarchies_of_ours
from servicedef import service_definition

LAW = settings(deadline=None)
"""A busy machine is no counter-example."""
OURS = complete(msgspec.convert(service_definition(), ServiceDef))
ALONE = Neighbours(by_name=lambda _: None, by_signature=lambda _: None)
NAMES = st.text("abcxyz*?_-.$ü1", min_size=1, max_size=5)
VALUES = st.lists(NAMES, min_size=1, max_size=4, unique=True)
LEVELS = ("instance", "namespace", "dataset")


def policy(**fields: Any) -> Policy:
    """A policy that breaks no rule, changed by Ranger's field names."""
    whole = {
        "service": "cdapdev",
        "name": "p",
        "resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"]}},
        "policyItems": [{"users": ["alice"], "accesses": [{"type": "read"}]}],
    }
    return msgspec.convert({**whole, **fields}, Policy)


# Validation: what the recording does not show

ALICE_READS = {"users": ["alice"], "accesses": [{"type": "read"}]}
BROKEN = [
    ({"isAuditEnabled": False, "policyItems": []}, 3008, None),
    ({"policyItems": [{"users": ["alice"], "accesses": [{"type": "fly"}]}]}, 3022, "fly"),
    ({"policyItems": [{"users": ["alice"], "accesses": [{"type": "_ALL"}]}]}, 3022, "_ALL"),
    ({"policyItems": [{"users": ["alice"], "accesses": [{"type": "read", "isAllowed": False}]}]}, 3023, None),
    ({"denyPolicyItems": [{"accesses": [{"type": "read"}]}]}, 3020, None),
    ({"allowExceptions": [{"users": ["alice"]}]}, 3002, None),
    ({"policyPriority": 2}, 3030, None),
    ({"zoneName": "z"}, 3033, None),
    ({"resources": {"instance": {"values": ["cdap"], "isRecursive": True}}}, 3017, "instance"),
    ({"resources": {"instance": {"values": []}}}, 3026, "instance"),
    ({"resources": {"instance": {"values": ["cdap"]}, "dataset": {"values": ["d"]}}}, 3025, "missing mandatory"),
    ({"additionalResources": [{"instance": {"values": [""]}}]}, 3026, "instance"),
    ({"additionalResources": [{}]}, 3012, "missing mandatory"),
    ({"policyType": 1}, 3011, "incompatible"),
]


@pytest.mark.parametrize(("fields", "code", "subfield"), BROKEN, ids=[str(code) for _, code, _ in BROKEN])
def test_a_broken_policy_is_told_which_rule(fields: dict[str, Any], code: int, subfield: str | None) -> None:
    found = list(check_policy(policy(**fields), OURS, ALONE, may_exclude=True))
    assert [(row.code, row.subfield) for row in found] == [(code, subfield)]


def test_a_good_policy_breaks_no_rule() -> None:
    assert list(check_policy(policy(), OURS, ALONE, may_exclude=True)) == []
    denies = policy(denyPolicyItems=[ALICE_READS], policyItems=[], isAuditEnabled=False, policyPriority=1)
    assert list(check_policy(denies, OURS, ALONE, may_exclude=True)) == []


def test_excludes_need_an_administrator() -> None:
    excludes = policy(
        resources={"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"], "isExcludes": True}}
    )
    assert [row.code for row in check_policy(excludes, OURS, ALONE, may_exclude=False)] == [3016]
    assert list(check_policy(excludes, OURS, ALONE, may_exclude=True)) == []


def test_a_value_must_match_the_expression_of_its_level() -> None:
    resources = [
        msgspec.structs.replace(level, validation_reg_ex="[a-z]+[0-9]") if level.name == "namespace" else level
        for level in OURS.resources
    ]
    strict = msgspec.structs.replace(OURS, resources=resources)
    assert list(check_policy(policy(), strict, ALONE, may_exclude=True)) == []
    wrong = policy(resources={"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1x"]}})
    assert [row.code for row in check_policy(wrong, strict, ALONE, may_exclude=True)] == [3018]


def test_two_policies_of_one_name_or_resource_are_told_together() -> None:
    same = Neighbours(by_name=lambda _: Neighbour(2962, "p"), by_signature=lambda _: Neighbour(7, "q"))
    found = list(check_policy(policy(), OURS, same, may_exclude=True, name_field="id/name"))
    assert [(row.code, row.field) for row in found] == [(3006, "id/name"), (3010, "resources")]
    assert "policy-id=[2,962]" in failure_text(found)
    assert failure_text(found).startswith("(0) Validation failure: error code[3006]")
    assert " (1) Validation failure: error code[3010]" in failure_text(found)
    asleep = policy(isEnabled=False)
    assert [row.code for row in check_policy(asleep, OURS, same, may_exclude=True)] == [3006]


@pytest.mark.parametrize("code", RULES)
def test_every_rule_can_be_told(code: int) -> None:
    text = str(problem(code, 1, 2, 3))
    assert f"error code[{code}]" in text
    assert "{" not in text


# Signatures


@LAW
@given(st.permutations(LEVELS), st.lists(VALUES, min_size=3, max_size=3), st.randoms(use_true_random=False))
def test_the_order_of_levels_and_values_does_not_change_a_signature(
    levels: list[str], values: list[list[str]], shuffler: Any
) -> None:
    by_level = dict(zip(LEVELS, values, strict=True))
    shuffled = {
        level: PolicyResource(values=shuffler.sample(by_level[level], len(by_level[level]))) for level in levels
    }
    straight = {level: PolicyResource(values=by_level[level]) for level in LEVELS}
    assert signature(Policy(resources=shuffled)) == signature(Policy(resources=straight))


@LAW
@given(VALUES, VALUES, st.booleans(), st.booleans(), st.sampled_from([0, 1]), st.sampled_from([0, 1]))
def test_what_differs_in_resources_or_priority_differs_in_signature(
    one: list[str], other: list[str], excludes: bool, excludes_too: bool, priority: int, priority_too: int
) -> None:
    def sign(values: list[str], is_excludes: bool, level: int) -> str:
        resource = PolicyResource(values=values, is_excludes=is_excludes)
        return signature(Policy(resources={"instance": resource}, policy_priority=level))

    same = (sorted(one), excludes, priority) == (sorted(other), excludes_too, priority_too)
    assert (sign(one, excludes, priority) == sign(other, excludes_too, priority_too)) == same


# Definitions


def test_our_definition_breaks_no_rule_and_keeps_its_hierarchies() -> None:
    assert list(check_definition(OURS, [])) == []
    assert set(hierarchies(OURS.resources)) == hierarchies_of_ours(service_definition())


def test_completing_twice_is_completing_once() -> None:
    assert complete(OURS) == OURS


ACCESS_TYPES = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["CREATE", "READ", "UPDATE", "DELETE", "MANAGE", None])),
    min_size=1,
    max_size=6,
    unique_by=lambda row: row[0],
)


@LAW
@given(ACCESS_TYPES, st.data())
def test_markers_imply_their_category_and_what_it_implies(rows: list[tuple[str, str | None]], data: Any) -> None:
    names = [name for name, _ in rows]
    implied = {name: data.draw(st.lists(st.sampled_from(names), max_size=3, unique=True)) for name in names}
    types = [
        AccessTypeDef(item_id=n, name=name, category=category, implied_grants=implied[name])
        for n, (name, category) in enumerate(rows, start=1)
    ]
    made = {marker.name: marker for marker in markers(types)}
    assert [marker.item_id for marker in made.values()] == list(range(len(rows) + 1, len(rows) + 7))
    assert set(made["_ALL"].implied_grants) == set(names)
    for name, category in rows:
        if category:
            assert {name, *implied[name]} <= set(made[f"_{category}"].implied_grants)


BROKEN_DEFINITIONS = [
    ({"name": ""}, 2006),
    ({"accessTypes": []}, 2002),
    ({"resources": []}, 2002),
    ({"accessTypes": [{"name": "a", "impliedGrants": ["b"]}]}, 2009),
    ({"resources": [{"name": "a", "level": 1, "parent": "b"}]}, 2016),
    ({"resources": [{"name": "a", "level": 1}, {"name": "b", "level": 1, "parent": "a"}]}, 2021),
    ({"resources": [{"name": "a", "level": 2, "parent": "b"}, {"name": "b", "level": 1, "parent": "a"}]}, 2021),
    ({"resources": [{"name": "a"}, {"name": "a"}]}, 0),
]


@pytest.mark.parametrize(("fields", "code"), BROKEN_DEFINITIONS)
def test_a_broken_definition_is_told_which_rule(fields: dict[str, Any], code: int) -> None:
    whole = {"name": "d", "accessTypes": [{"name": "a"}], "resources": [{"name": "r"}]}
    found = check_definition(msgspec.convert({**whole, **fields}, ServiceDef), [])
    assert [row.code for row in found] == [code]


# Grants

USERS = st.sampled_from(["alice", "bob", "carol"])
TYPES = st.lists(st.sampled_from(["read", "write", "admin"]), max_size=3, unique=True)
ITEMS = st.lists(
    st.builds(
        lambda users, types, delegate: {
            "users": users,
            "accesses": [{"type": name} for name in types],
            "delegateAdmin": delegate,
        },
        st.lists(USERS, min_size=1, max_size=3),
        TYPES,
        st.booleans(),
    ),
    max_size=3,
)
POLICIES = st.builds(
    lambda a, d, x, y: policy(policyItems=a, denyPolicyItems=d, allowExceptions=x, denyExceptions=y),
    ITEMS,
    ITEMS,
    ITEMS,
    ITEMS,
)


def held(items: list[PolicyItem], user: str) -> set[str]:
    return {name for item in items if user in item.users for name in item.access_types()}


def everything(policy: Policy, user: str) -> list[set[str]]:
    return [held(items, user) for items in policy.item_lists()]


@LAW
@given(POLICIES, USERS, TYPES, st.booleans())
def test_a_grant_gives_exactly_that_to_exactly_that_user(
    before: Policy, user: str, types: list[str], delegate: bool
) -> None:
    request = GrantRevoke(users=[user], access_types=types, delegate_admin=delegate)
    after = granted(before, request)
    assert held(after.policy_items, user) == held(before.policy_items, user) | set(types)
    assert held(after.deny_policy_items, user) == held(before.deny_policy_items, user) - set(types)
    assert held(after.allow_exceptions, user) == held(before.allow_exceptions, user) - set(types)
    was_denied = any(user in item.users for item in before.deny_policy_items)
    spared = held(before.deny_exceptions, user) | (set(types) if was_denied else set())
    assert held(after.deny_exceptions, user) == spared
    for other in {"alice", "bob", "carol"} - {user}:
        assert everything(after, other) == everything(before, other)
    again = granted(after, request)
    for someone in ("alice", "bob", "carol"):
        assert everything(again, someone)[0] == everything(after, someone)[0]


@LAW
@given(POLICIES, USERS, TYPES)
def test_a_revoke_takes_exactly_that_and_never_denies(before: Policy, user: str, types: list[str]) -> None:
    after = revoked(before, GrantRevoke(users=[user], access_types=types))
    assert held(after.policy_items, user) == held(before.policy_items, user) - set(types)
    assert held(after.deny_policy_items, user) == held(before.deny_policy_items, user)
    assert held(after.deny_exceptions, user) == held(before.deny_exceptions, user) - set(types)
    for other in {"alice", "bob", "carol"} - {user}:
        assert everything(after, other) == everything(before, other)


def test_a_replacing_grant_takes_what_the_grantee_had_and_leaves_others() -> None:
    before = policy(policyItems=[{"users": ["alice", "bob"], "accesses": [{"type": "write"}]}])
    after = granted(before, GrantRevoke(users=["alice"], access_types=["read"], replace_existing_permissions=True))
    assert (held(after.policy_items, "alice"), held(after.policy_items, "bob")) == ({"read"}, {"write"})


def test_a_grant_leaves_conditional_items_as_they_are() -> None:
    conditional = {**ALICE_READS, "conditions": [{"type": "_expression", "values": ["true"]}]}
    before = policy(policyItems=[conditional])
    after = granted(before, GrantRevoke(users=["alice"], access_types=["read"]))
    assert after.policy_items[0] == before.policy_items[0]
    assert [(item.users, bool(item.conditions)) for item in after.policy_items] == [
        (["alice"], True),
        (["alice"], False),
    ]


def test_a_comma_in_a_resource_of_a_grant_means_two_values() -> None:
    request = GrantRevoke(resource={"namespace": "a,b"})
    assert requested_resources(request) == {"namespace": PolicyResource(values=["a", "b"])}


DELEGATE = {"users": ["bob"], "accesses": [{"type": "read"}], "delegateAdmin": True}
HERE = {"instance": "cdap", "namespace": "ns1"}
BOB_READS = {"users": ["bob"], "accesses": [{"type": "read"}]}


def on(instance: str, namespace: str, **more: Any) -> dict[str, Any]:
    return {"resources": {"instance": {"values": [instance]}, "namespace": {"values": [namespace], **more}}}


DELEGATION: list[tuple[dict[str, Any], dict[str, str], list[str], bool]] = [
    # what is special about the policy, the resource of the request, the access types, may bob
    ({}, HERE, ["read"], True),
    ({}, HERE, ["write"], False),
    ({}, HERE, ["read", "write"], False),
    ({}, HERE | {"namespace": "ns2"}, ["read"], False),
    ({}, HERE | {"namespace": "ns1,ns2"}, ["read"], False),
    ({}, HERE | {"dataset": "d"}, ["read"], False),
    ({}, {"instance": "cdap"}, ["read"], False),
    (on("*", "n*"), {"instance": "x", "namespace": "ns9"}, ["read"], True),
    (on("*", "n*"), {"instance": "*", "namespace": "n*"}, ["read"], True),
    (on("*", "n*"), {"instance": "a?", "namespace": "ns*"}, ["read"], True),
    (on("*", "n?"), {"instance": "x", "namespace": "n*"}, ["read"], False),
    (on("*", "*s1"), {"instance": "x", "namespace": "*"}, ["read"], False),
    (on("[c]dap", "*"), HERE, ["read"], False),
    (on("cdap", "x", isExcludes=True), HERE, ["read"], False),
    ({"isEnabled": False}, HERE, ["read"], False),
    ({"denyPolicyItems": [BOB_READS]}, HERE, ["read"], False),
    ({"allowExceptions": [BOB_READS]}, HERE, ["read"], False),
    ({"validitySchedules": [{"startTime": "2020/01/01 00:00:00"}]}, HERE, ["read"], False),
    ({"conditions": [{"type": "_expression", "values": ["true"]}]}, HERE, ["read"], False),
    ({"policyItems": [BOB_READS]}, HERE, ["read"], False),
    ({"policyItems": [DELEGATE | {"users": ["carol"]}]}, HERE, ["read"], False),
]


@pytest.mark.parametrize(("fields", "resource", "types", "may"), DELEGATION)
def test_who_may_pass_rights_on(fields: dict[str, Any], resource: dict[str, str], types: list[str], may: bool) -> None:
    delegated = policy(**{"policyItems": [DELEGATE], **fields})
    wanted = requested_resources(GrantRevoke(resource=resource))
    assert may_delegate([delegated], wanted, types, lambda item: "bob" in item.users, {}) is may


# Documents

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


def in_objects(value: Any) -> list[Any]:
    """All values of all objects, at any depth."""
    if isinstance(value, dict):
        return [found for inner in value.values() for found in (inner, *in_objects(inner))]
    return [found for inner in value for found in in_objects(inner)] if isinstance(value, list) else []


@LAW
@given(JSON)
def test_nothing_null_is_read_and_nothing_empty_answered(value: Any) -> None:
    assert all(found is not None for found in in_objects(without_nulls(value)))
    assert all(
        found is not None and found != "" and found != [] and found != {}
        for found in in_objects(without_empties(value))
    )


@LAW
@given(POLICIES)
def test_a_policy_survives_being_answered_and_sent_back(sent: Policy) -> None:
    assert msgspec.convert(to_json_object(sent), Policy) == sent
