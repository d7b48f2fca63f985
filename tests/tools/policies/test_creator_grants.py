"""The sync job's policies for creators are told from other policies, and those that people edited from these."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import ACCESS_TYPES, grant_for, is_creators_policy
from ranger_cdap.ranger.changes.transfer import portable
from ranger_cdap.ranger_model.policy import Policy
from ranger_cdap.tools.policies.creator_grants import CreatorGrants
from spark_sync.grants import grant_policy
from tests.spark_sync.grants.fixtures import life

Json = dict[str, Any]
PLAIN = CreatorGrants(delegate_admin=False)
ENTITIES = (
    EntityId("namespace", ("ns1",)),
    EntityId("dataset", ("ns1", "kv.$a")),
    EntityId("application", ("ns1", "shop")),
    EntityId("artifact", ("ns1", "a.b")),
)


def granted(entity: EntityId = ENTITIES[1], number: int = 1, **more: Any) -> Json:
    actions = more.pop("actions", ACCESS_TYPES)
    grant = grant_for(entity, more.pop("user", "alice"), "cdap", actions, non_creators=())
    of = life(entity=entity, number=number)
    policy = grant_policy.policy_for(of, grant, service="s", delegate_admin=False, **more)
    found: Json = msgspec.to_builtins(policy)
    return found


@given(
    st.sampled_from(ENTITIES),
    st.integers(1, 10**6),
    st.sets(st.sampled_from(ACCESS_TYPES), min_size=1),
    st.sampled_from(["alice", "al ice@x/y", "\u00e9"]),
)
def test_every_grant_of_the_sync_job_is_known(entity: EntityId, number: int, actions: Any, user: str) -> None:
    policy = granted(entity, number, actions=sorted(actions), user=user)
    assert PLAIN.made(policy)
    assert PLAIN.made({**policy, "id": 7, "version": 3, "denyPolicyItems": [], "isEnabled": True})
    assert PLAIN.made(portable(policy))


READ = {"type": "read", "isAllowed": True}
GIVEN = granted()["policyItems"][0]


@pytest.mark.parametrize(
    "more",
    [
        {"guid": "6f1c2a52-6f0e-4c51-9d0b-3f3f7f0a9e11"},
        {"policyLabels": []},
        {"policyItems": [{**GIVEN, "users": ["alice", "bob"]}]},
        {"policyItems": [{**GIVEN, "users": ["{USER}"]}]},
        {"policyItems": [{**GIVEN, "users": []}]},
        {"policyItems": [{**GIVEN, "groups": ["public"]}]},
        {"policyItems": [{**GIVEN, "roles": ["r"]}]},
        {"policyItems": [{**GIVEN, "delegateAdmin": True}]},
        {"policyItems": [{**GIVEN, "accesses": [{"type": "_ALL"}]}]},
        {"policyItems": [{**GIVEN, "accesses": [{"type": "read", "isAllowed": False}]}]},
        {"policyItems": [GIVEN, {"users": ["bob"], "accesses": [READ]}]},
        {"policyItems": [GIVEN, {"groups": ["public"], "accesses": GIVEN["accesses"]}]},
        {"policyItems": []},
        {"denyPolicyItems": [{"users": ["bob"], "accesses": [READ]}]},
        {"isDenyAllElse": True},
        {"isEnabled": False},
        {"policyPriority": 1},
        {"conditions": [{"type": "ip", "values": ["*"]}]},
        {"additionalResources": []},
        {"additionalResources": [granted()["resources"], granted(ENTITIES[0])["resources"]]},
        {"additionalResources": [{"instance": {"values": ["*"]}}]},
        {"resources": {**granted()["resources"], "dataset": {"values": ["*"]}}},
        {"resources": {**granted()["resources"], "dataset": {"values": ["kv.$a", "b"]}}},
        {"resources": {**granted()["resources"], "dataset": {"values": ["kv.$a"], "isExcludes": True}}},
        {"resources": {**granted()["resources"], "dataset": {"values": ["other"]}}},
        {"resources": {"instance": {"values": ["cdap"]}}},
        {"resources": {}},
        {"resources": {"instance": []}},
        {"policyItems": [1]},
    ],
)
def test_what_gives_more_or_carries_another_guid_is_somebody_else_s(more: Json) -> None:
    assert PLAIN.made(granted())
    assert not PLAIN.made({**granted(), **more})


def test_everything_but_one_entity_is_not_one_entity() -> None:
    on_namespace = granted(ENTITIES[0])
    others = {**on_namespace["resources"], "dataset": {"values": ["kv"], "isExcludes": True}}
    assert PLAIN.made(on_namespace)
    assert not PLAIN.made({**on_namespace, "resources": others})


def test_delegation_belongs_to_it_only_by_the_settings_and_a_group_never() -> None:
    assert not PLAIN.made({**granted(), "policyItems": [GIVEN, {**GIVEN, "users": [], "groups": ["cdap_ns1"]}]})
    delegating = {**granted(), "policyItems": [{**GIVEN, "delegateAdmin": True}]}
    assert not PLAIN.made(delegating)
    assert CreatorGrants(delegate_admin=True).made(delegating)


def test_a_grant_in_a_zone_or_listed_three_times_or_written_anew_is_known() -> None:
    policy = granted()
    assert PLAIN.made({**policy, "zoneName": "finance"})
    assert PLAIN.made({**policy, "additionalResources": [policy["resources"]] * 2})
    copies = [grant_policy.as_copy(msgspec.convert(policy, Policy), life(entity=ENTITIES[1]), n) for n in range(20)]
    assert all(PLAIN.made(msgspec.to_builtins(copy)) for copy in copies)


EDITS: tuple[Json, ...] = (
    {"name": "ours now", "description": "of sales"},
    {"policyLabels": ["of sales", *granted()["policyLabels"]]},
    {"policyItems": [GIVEN, {"users": ["bob"], "accesses": [READ]}]},
    {"policyItems": []},
    {"denyPolicyItems": [{"users": ["bob"], "accesses": [READ]}]},
    {"conditions": [{"type": "ip", "values": ["*"]}]},
    {"isEnabled": False},
    {"additionalResources": []},
    {"additionalResources": [granted(ENTITIES[0])["resources"]]},
)


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_policy_of_the_job_is_the_job_s(edit: Json) -> None:
    edited = {**granted(), **edit}
    assert is_creators_policy(edited)
    assert is_creators_policy(msgspec.convert(edited, Policy))


OTHERS: tuple[Json, ...] = (
    {"guid": "6f1c2a52-6f0e-4c51-9d0b-3f3f7f0a9e11"},
    {"guid": granted(ENTITIES[0])["guid"]},
    {"policyLabels": []},
    *(
        {"resources": where, "additionalResources": [where]}
        for where in (granted(ENTITIES[0])["resources"], {}, None, 3)
    ),
    {"resources": {"instance": []}, "additionalResources": []},
)


@pytest.mark.parametrize("other", OTHERS)
def test_a_policy_without_the_label_or_of_another_entity_is_a_person_s(other: Json) -> None:
    assert not is_creators_policy({**granted(), **other})
    assert not is_creators_policy({**granted(), **other, "policyItems": []})


@pytest.mark.parametrize("name", ["theirs", "alice created dataset ns1.kv.$a (1, 00000000)"])
def test_in_a_file_the_name_has_the_entity(name: str) -> None:
    assert is_creators_policy(portable(granted()))
    assert not is_creators_policy({**portable(granted()), "name": name})
