"""What grants and revokes make of a policy, and who may pass on what he has."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.ranger_model.policy import PolicyItem, PolicyResource
from ranger_cdap.testing.admin.model.documents import AdminPolicy, GrantRevoke
from ranger_cdap.testing.admin.rules.grant_rules import granted, may_delegate, requested_resources, revoked
from tests.testing.admin.documents import ALICE_READS, POLICIES, TYPES, USERS, policy


def held(items: list[PolicyItem], user: str) -> set[str]:
    return {name for item in items if user in item.users for name in item.access_types()}


def everything(policy: AdminPolicy, user: str) -> list[set[str]]:
    return [held(items, user) for items in policy.item_lists().values()]


@given(POLICIES, USERS, TYPES, st.booleans())
def test_a_grant_gives_exactly_that_to_exactly_that_user(
    before: AdminPolicy, user: str, types: list[str], delegate: bool
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


@given(POLICIES, USERS, TYPES)
def test_a_revoke_takes_exactly_that_and_never_denies(before: AdminPolicy, user: str, types: list[str]) -> None:
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
