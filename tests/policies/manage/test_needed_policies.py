"""Policies for the privileges of a plan: exactly these rights, beside all that Ranger has, and once only."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId, parse_entity, to_resource
from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.cdap.pattern import parse_pattern
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import UnsafeGrant
from ranger_cdap.policies.manage.needed_policies import (
    PLAN_LABEL,
    NeededStep,
    Right,
    needed_policies,
    needed_steps,
)
from ranger_cdap.policies.manage.policy_collection import PolicyCollection
from ranger_cdap.policies.manage.transfer import TransferAction, body
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.cdap.fixtures import Policies
from tests.policies.manage.test_creator_grants import granted

Json = dict[str, Any]
ENTITIES = [
    *map(parse_entity, ("instance:", "namespace:ns1", "namespace:ns2", "dataset:ns1.kv", "application:ns1.app")),
    *map(parse_entity, ("program:ns1.app.worker.W", "principal:svc", "artifact:ns1.app")),
]
USERS = ("alice", "bob", "svc")
RIGHTS = st.lists(
    st.tuples(st.sampled_from(USERS), st.sampled_from(ACCESS_TYPES), st.sampled_from(ENTITIES)), min_size=1, max_size=9
)
OLD = st.lists(RIGHTS, max_size=3)


def engine_of(policies: list[Json]) -> Policies:
    download = PolicyCollection.of_document({"policies": policies}).download("cdapdev")
    return Policies(PolicyEngine.build(decode_service_policies(download)))


def rights_in(policies: list[Json]) -> set[Right]:
    """What the engine allows, in this universe."""
    ask = engine_of(policies)
    return {(u, a, e) for u in USERS for a in ACCESS_TYPES for e in ENTITIES if ask(u, e, a.upper()).allowed}


def carried_out(steps: tuple[NeededStep, ...], there: list[Json]) -> list[Json]:
    """Ranger's policies after the steps."""
    after = {policy["id"]: policy for policy in there}
    for one in steps:
        if one.step.change in (TransferAction.CREATE, TransferAction.UPDATE):
            sent = body(one.step, "cdapdev")
            number = sent.setdefault("id", 1 + max(after, default=0))
            after[number] = sent
    return list(after.values())


def in_ranger(rights: list[Right], there: list[Json]) -> list[Json]:
    return carried_out(needed_steps(needed_policies(rights, "cdap"), there), there)


@given(RIGHTS, OLD)
def test_exactly_the_rights_are_added_and_the_second_time_nothing(
    rights: list[Right], before: list[list[Right]]
) -> None:
    there: list[Json] = []
    for several in before:
        there = in_ranger(several, there)
    kept = copy.deepcopy(there)
    after = in_ranger(rights, there)

    assert there == kept
    assert rights_in(after) == rights_in(there) | set(rights)
    again = needed_steps(needed_policies(rights, "cdap"), after)
    assert {one.step.change for one in again} == {TransferAction.KEEP}
    assert not any(one.adds for one in again)
    resources = [str(policy["resources"]) for policy in after]
    assert len(resources) == len(set(resources))


@given(RIGHTS, RIGHTS)
def test_what_people_wrote_in_a_policy_stays_as_it_is(rights: list[Right], more: list[Right]) -> None:
    there = in_ranger(rights, [])
    for policy in there:
        policy["policyItems"] = [
            {
                "users": ["zoe"],
                "accesses": [{"type": "read", "isAllowed": True}],
                "conditions": [],
                "delegateAdmin": True,
            },
            {"groups": ["etl"], "users": ["alice"], "accesses": [{"type": "read"}]},
        ]
        policy["policyLabels"] = ["mine"]
    for after, before in zip(in_ranger(more, there), there, strict=False):
        items = after["policyItems"]
        assert [item["users"] for item in items[:2]] == [["zoe"], ["alice"]]
        assert items[0]["delegateAdmin"]
        assert after["policyLabels"] == before["policyLabels"] == ["mine"]
        assert items[1].get("groups") == ["etl"]


def test_users_with_the_same_rights_share_an_item_and_a_policy_is_marked() -> None:
    kv = parse_entity("dataset:ns1.kv")
    (policy,) = needed_policies([("alice", "read", kv), ("bob", "read", kv), ("svc", "admin", kv)], "cdap")
    document = policy.document()
    assert document["policyItems"] == [
        {"users": ["alice", "bob"], "accesses": [{"type": "read"}]},
        {"users": ["svc"], "accesses": [{"type": "admin"}]},
    ]
    assert document["policyLabels"] == [PLAN_LABEL]
    assert document["resources"] == {level: {"values": [value]} for level, value in to_resource(kv, "cdap").items()}


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("program:ns1.app.*", "?*"),
        ("dataset:ns1.local*", "local*"),
        ("dataset_type:ns1.*Type", "*Type"),
        ("dataset:ns1.*", "?*"),
    ],
)
def test_a_star_never_reaches_the_parent(pattern: str, value: str) -> None:
    entity = parse_pattern(pattern)
    (policy,) = needed_policies([("alice", "read", entity)], "cdap")
    assert policy.resources[entity.type] == {"values": [value]}
    ask = engine_of([policy.document()])
    parent = EntityId(entity.type, entity.parts).parent
    assert parent is not None
    assert not ask("alice", parent, "READ").allowed


def policy_of(**members: Any) -> Json:
    (policy,) = in_ranger([("zoe", "read", parse_entity("dataset:ns1.kv"))], [])
    return {**policy, "version": 3, **members}


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"isEnabled": False}, "is disabled"),
        ({"conditions": [{"type": "ip-range", "values": ["10.0.0.1"]}]}, "has conditions"),
        ({"validitySchedules": [{"endTime": "2027/01/01 00:00:00"}]}, "has a validity period"),
        ({"policyPriority": 1}, "overrides other policies"),
        ({"isDenyAllElse": True}, "denies all else"),
        ({"additionalResources": [{"instance": {"values": ["other"]}}]}, "has further resources"),
        ({"denyPolicyItems": [{"users": ["alice"], "accesses": [{"type": "read"}]}]}, "denies or excepts alice"),
        ({"allowExceptions": [{"users": ["alice"], "accesses": [{"type": "read"}]}]}, "denies or excepts alice"),
    ],
)
def test_a_policy_that_says_more_is_left_alone_and_named(members: Json, why: str) -> None:
    needed = needed_policies([("alice", "read", parse_entity("dataset:ns1.kv"))], "cdap")
    (one,) = needed_steps(needed, [policy_of(**members)])
    assert one.step.change is TransferAction.BLOCKED
    assert why in str(one)
    assert "policy 1" in str(one)
    (beside,) = needed_steps(needed, [policy_of(**members), policy_of(id=2, name="two")])
    assert (beside.step.change, beside.step.name) == (TransferAction.UPDATE, "two")


@pytest.mark.parametrize(
    "members",
    [
        {"policyType": 1},
        {"zoneName": "z"},
        {"resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"]}}},
        {"resources": {**policy_of()["resources"], "dataset": {"values": ["kv"], "isExcludes": True}}},
        {"resources": {**policy_of()["resources"], "dataset": {"values": ["kv", "kv2"]}}},
    ],
)
def test_a_policy_on_another_resource_is_not_used(members: Json) -> None:
    needed = needed_policies([("alice", "read", parse_entity("dataset:ns1.kv"))], "cdap")
    (one,) = needed_steps(needed, [policy_of(name="other", **members)])
    assert one.step.change is TransferAction.CREATE


def test_a_policy_with_the_name_on_another_resource_stands_in_the_way() -> None:
    needed = needed_policies([("alice", "read", parse_entity("dataset:ns1.kv"))], "cdap")
    other = {**policy_of(), "resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"]}}}
    (one,) = needed_steps(needed, [other])
    assert one.step.change is TransferAction.BLOCKED
    assert "policy 1 has this name" in str(one)


def test_a_policy_is_made_beside_a_creators_grant_and_widened_from_then_on() -> None:
    entity = EntityId("dataset", ("ns1", "d1"))
    edited = {**granted(entity, 1), "id": 4, "version": 2, "isEnabled": False, "conditions": [{"type": "ip"}]}
    (one,) = needed_steps(needed_policies([("alice", "read", entity)], "cdap"), [edited])
    assert one.step.change is TransferAction.CREATE
    beside = {**(one.step.wanted or {}), "id": 5, "version": 1}
    (more,) = needed_steps(needed_policies([("bob", "read", entity)], "cdap"), [edited, beside])
    assert (more.step.change, more.step.there) == (TransferAction.UPDATE, beside)


@pytest.mark.parametrize("user", ["", " alice", "public", "{USER}", "{OWNER}", "a,b", "a*", "a\x1b[2J"])
def test_a_name_that_is_no_single_user_gets_nothing(user: str) -> None:
    with pytest.raises(UnsafeGrant):
        needed_policies([(user, "read", parse_entity("dataset:ns1.kv"))], "cdap")
