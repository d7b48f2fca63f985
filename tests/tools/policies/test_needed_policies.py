"""Policies for the privileges of a plan: exactly these rights."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId, parse_entity, to_resource
from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.cdap.pattern import parse_pattern
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import UnsafeGrant
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.tools.policies.needed_policies import (
    PLAN_LABEL,
    Right,
    needed_policies,
)
from tests.cdap.fixtures import Policies

Json = dict[str, Any]
ENTITIES = [
    *map(parse_entity, ("instance:", "namespace:ns1", "namespace:ns2", "dataset:ns1.kv", "application:ns1.app")),
    *map(parse_entity, ("program:ns1.app.worker.W", "principal:svc", "artifact:ns1.app")),
]
USERS = ("alice", "bob", "svc")
RIGHTS = st.lists(
    st.tuples(st.sampled_from(USERS), st.sampled_from(ACCESS_TYPES), st.sampled_from(ENTITIES)), min_size=1, max_size=9
)


def engine_of(policies: list[Json]) -> Policies:
    download = PolicyCollection.of_document({"policies": policies}).download("cdapdev")
    return Policies(PolicyEngine.build(decode_service_policies(download)))


def rights_in(policies: list[Json]) -> set[Right]:
    """What the engine allows, in this universe."""
    ask = engine_of(policies)
    return {(u, a, e) for u in USERS for a in ACCESS_TYPES for e in ENTITIES if ask(u, e, a.upper()).allowed}


@given(RIGHTS)
def test_exactly_the_rights_are_given(rights: list[Right]) -> None:
    assert rights_in([one.document() for one in needed_policies(rights, "cdap")]) == set(rights)


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
    assert document["additionalResources"] == [document["resources"]]


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


@pytest.mark.parametrize("user", ["", " alice", "public", "{USER}", "{OWNER}", "a,b", "a*", "a\x1b[2J"])
def test_a_name_that_is_no_single_user_gets_nothing(user: str) -> None:
    with pytest.raises(UnsafeGrant):
        needed_policies([(user, "read", parse_entity("dataset:ns1.kv"))], "cdap")
