"""Other policies that name the group `public`: its denials hold, its allowances stay, and ours is taken back alone."""

from __future__ import annotations

from typing import Any

import pytest

from ranger_cdap.engine import AccessRequest
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess
from spark_sync.ledger.life import State
from tests.spark_sync.conftest import Ranger
from tests.spark_sync.grants.fixtures import ALL, foreign, gone, item, life, resource, send, wants
from tests.spark_sync.grants.test_grant_reach import engine_with

ABOVE: dict[str, Any] = {"resources": resource(namespace="ns1", dataset="*")}
Rights = dict[str, set[str]]


def public(*accesses: str) -> PolicyItem:
    return PolicyItem(accesses=[PolicyItemAccess(type=access) for access in accesses], groups=["public"])


def rights(ranger: Ranger) -> Rights:
    """What the creator and somebody else may do on the entity, by what Ranger has now."""
    engine = engine_with(*ranger.policies())
    kv = {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}
    return {
        person: {access for access in ALL if engine.evaluate(AccessRequest(kv, access, user=person)).allowed}
        for person in ("alice", "bob")
    }


# Another policy, and what the creator and bob may do while the grant stands.
ON_OTHER_RESOURCES: dict[str, tuple[dict[str, Any], Rights]] = {
    "denied to everybody": (
        {"policy_items": [], "deny_policy_items": [public("write")]},
        {"alice": {"read", "admin", "execute"}, "bob": set()},
    ),
    "denied to everybody but the creator": (
        {"policy_items": [], "deny_policy_items": [public("write")], "deny_exceptions": [item("alice", "write")]},
        {"alice": {*ALL}, "bob": set()},
    ),
    "denied to everybody with an override": (
        {"policy_items": [], "deny_policy_items": [public(*ALL)], "policy_priority": 1},
        {"alice": set(), "bob": set()},
    ),
    "all else denied": (
        {"policy_items": [public("read")], "is_deny_all_else": True},
        {"alice": {"read"}, "bob": {"read"}},
    ),
    "allowed to everybody": ({"policy_items": [public("read")]}, {"alice": {*ALL}, "bob": {"read"}}),
}


@pytest.mark.parametrize(("fields", "during"), ON_OTHER_RESOURCES.values(), ids=ON_OTHER_RESOURCES)
def test_a_policy_above_holds_as_before_and_ours_is_taken_back(
    ranger: Ranger, fields: dict[str, Any], during: Rights
) -> None:
    theirs = foreign(ranger, **ABOVE, **fields)
    before = rights(ranger)
    (applied,) = send(ranger, life())
    assert applied.state is State.APPLIED
    assert rights(ranger) == during
    assert during["bob"] == before["bob"]
    (closed,) = send(ranger, gone(applied))
    assert (closed.state, ranger.policies(), rights(ranger)) == (State.CLOSED, [theirs], before)


# A policy on exactly the entity: ours stands beside it, and nothing is added to it.
ON_THE_ENTITY: dict[str, tuple[dict[str, Any], set[str]]] = {
    "denied to everybody": ({"deny_policy_items": [public("write")]}, {"read", "admin", "execute"}),
    "everybody excepted from what is allowed": ({"allow_exceptions": [public("write")]}, {*ALL}),
    "everybody excepted from what is denied": (
        {"deny_policy_items": [item("bob", "write")], "deny_exceptions": [public("write")]},
        {*ALL},
    ),
    "allowed to everybody": ({"policy_items": [public("read")]}, {*ALL}),
}


@pytest.mark.parametrize(("fields", "during"), ON_THE_ENTITY.values(), ids=ON_THE_ENTITY)
def test_a_policy_on_the_entity_itself_holds_and_is_left_as_it_is(
    ranger: Ranger, fields: dict[str, Any], during: set[str]
) -> None:
    theirs = foreign(ranger, **fields)
    before = rights(ranger)
    (applied,) = send(ranger, life())
    assert applied.state is State.APPLIED
    assert rights(ranger) == before | {"alice": during}
    (closed,) = send(ranger, gone(applied))
    assert (closed.state, ranger.policies(), rights(ranger)) == (State.CLOSED, [theirs], before)


# What a person writes about everybody into the policy that we made.
INTO_OURS: dict[str, dict[str, Any]] = {
    "a denial": {"deny_policy_items": [public("write")]},
    "an allowance": {"policy_items": [item("alice", *ALL), public("read")]},
}


@pytest.mark.parametrize("fields", INTO_OURS.values(), ids=INTO_OURS)
def test_what_a_person_wrote_into_our_policy_outlives_the_creators_right(
    ranger: Ranger, fields: dict[str, Any]
) -> None:
    (applied,) = send(ranger, life())
    edited = edit(ranger, fields)
    (changed,) = send(ranger, wants(applied, "read"))
    assert (changed.state, rights(ranger)["alice"]) == (State.APPLIED, {"read"})
    (closed,) = send(ranger, gone(changed))
    (policy,) = ranger.policies()
    assert (closed.state, policy.guid, policy.is_enabled) == (State.CLOSED, edited.guid, True)
    assert policy.policy_items == [each for each in edited.policy_items if each.groups]
    assert policy.deny_policy_items == edited.deny_policy_items


def edit(ranger: Ranger, fields: dict[str, Any]) -> Policy:
    (policy,) = ranger.policies()
    for name, value in fields.items():
        setattr(policy, name, value)
    return ranger.admin.update_policy(policy)
