"""Deltas: the new engine decides as one built of the changed policies; the old one is not disturbed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.engine import MatchingScope, PolicyEngine
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.engine.fixtures import TAG_ENRICHERS, asks, document, engine, item, on, policy

CREATE, UPDATE, DELETE = 0, 1, 2
NAMES = ["a", "b", "a*", "*", "{USER}"]
PLACES = [{"hall": h, "shelf": s} for h in ("a", "b", "ab") for s in ("a", "b")] + [{"hall": "a"}, {}]
ASKED = [asks(p, who, access) for p in PLACES for who in ("a", "b @staff") for access in ("read", "_any")]
ASKED += [asks({"hall": "a"}, matching_scope=MatchingScope.SELF_OR_DESCENDANTS)]


def delta(kind: int, changed: Any) -> Any:
    return {"changeType": kind, "policiesVersion": 2, "policy": {"serviceType": "shop", "policyType": 0, **changed}}


def after(judge: PolicyEngine, *deltas: Any, version: int = 2, **more: Any) -> PolicyEngine:
    changes = {"serviceName": "shop1", "policyVersion": version, "policyDeltas": list(deltas), **more}
    return judge.with_deltas(decode_service_policies(json.dumps(changes).encode()))


some_items = st.sampled_from([item("a", "read"), item("@staff", "write"), item("@public", "own")])
resources = st.one_of(
    st.builds(lambda h: on(hall=h), st.sampled_from(NAMES)),
    st.builds(lambda h, s: on(hall=h, shelf=s), st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=2)),
)
policies = st.builds(
    lambda id_, where, allow, deny, enabled, priority: policy(
        id_, where, allow, deny, isEnabled=enabled, policyPriority=priority
    ),
    st.integers(1, 6),
    resources,
    st.lists(some_items, max_size=2),
    st.lists(some_items, max_size=1),
    st.sampled_from([True, True, True, False]),
    st.integers(0, 1),
)
changes = st.lists(st.tuples(st.sampled_from([CREATE, UPDATE, DELETE]), policies), max_size=6)


@settings(max_examples=150)
@given(st.lists(policies, max_size=6, unique_by=lambda p: p["id"]), st.lists(changes, max_size=3))
def test_deltas_give_what_a_rebuild_gives(first: list[Any], rounds: list[Any]) -> None:
    current = {p["id"]: p for p in first}
    judge = engine(*first)
    for number, changed in enumerate(rounds, 2):
        before = [judge.evaluate(r) for r in ASKED]
        new = after(judge, *(delta(kind, p) for kind, p in changed), version=number)
        assert [judge.evaluate(r) for r in ASKED] == before, "the old engine was disturbed"
        for kind, p in changed:
            current.pop(p["id"], None)
            if kind != DELETE:
                current[p["id"]] = p
        judge = new
        rebuilt = engine(*current.values())
        assert [judge.evaluate(r) for r in ASKED] == [rebuilt.evaluate(r) for r in ASKED]
        assert judge.policy_version == number


def test_many_deltas_one_after_another_are_still_what_a_rebuild_gives() -> None:
    """More of them than lie on top of a set before they are merged into it."""
    current = {i: policy(i, on(hall=f"h{i}"), [item("alice", "read")]) for i in range(1, 200)}
    judge = engine(*current.values())
    for i in range(1, 400):
        id_ = i * 7 % 260 + 1
        changed = policy(id_, on(hall=f"h{id_}"), [item("alice" if i % 3 else "bob", "read")])
        judge = after(judge, delta(UPDATE, changed) if i % 5 else delta(DELETE, changed))
        if i % 5:
            current[id_] = changed
        else:
            current.pop(id_, None)
    rebuilt = engine(*current.values())
    requests = [asks({"hall": f"h{i}"}, who) for i in range(262) for who in ("alice", "bob")]
    assert [judge.evaluate(r) for r in requests] == [rebuilt.evaluate(r) for r in requests]


def test_a_broken_delta_is_a_broken_policy_and_a_later_one_heals_it() -> None:
    judge = engine(policy(1, on(hall="h"), [item("alice", "read")]))
    broken = after(judge, delta(UPDATE, {**policy(1, on(hall="h")), "denyPolicyItems": "?"}))
    assert not broken.evaluate(asks({"hall": "h"})).allowed
    assert [p.policy_id for p in broken.problems] == [1]
    healed = after(broken, delta(UPDATE, policy(1, on(hall="h"), [item("alice", "read")])))
    assert healed.evaluate(asks({"hall": "h"})).allowed
    assert healed.problems == ()


EAST = {"east": {"zoneName": "east", "resources": [{"hall": ["e"]}]}}
WEST = {"west": {"zoneName": "west", "resources": [{"hall": ["w"]}]}}
TAG_SERVICE = {
    "name": "tag",
    "resources": [{"name": "tag"}],
    "accessTypes": [{"name": "shop:read"}],
    "contextEnrichers": TAG_ENRICHERS,
}
TAG_POLICY = policy(2, {"tag": {"values": ["SECRET"]}}, [], [item("@public", "shop:read")], serviceType="tag")
LINKED = {"serviceName": "tags", "serviceDef": TAG_SERVICE}
OUTSIDE = policy(9, on(hall="*"), [item("alice", "read")])
HARMLESS = delta(CREATE, policy(7, on(hall="z"), []))


@pytest.mark.parametrize(
    "change",
    [
        {"policyDeltas": [{"changeType": 7, "policy": {"id": 1}}]},
        {"policyDeltas": [{"changeType": 1, "policy": {"name": "no id"}}]},
        {"policyDeltas": [{"changeType": 1}]},
        {"policyDeltas": None},
        {"policyDeltas": [], "policies": [policy(1, on(hall="h"))]},
        {"policyDeltas": [], "serviceName": "other"},
        {"policyDeltas": [], "serviceDef": {"name": "other"}},
        {"policyDeltas": [delta(CREATE, policy(7, on(hall="z"), [], serviceType=None))]},
        {"policyDeltas": [delta(CREATE, policy(7, on(hall="z"), [], serviceType="other"))]},
        {"policyDeltas": [delta(UPDATE, policy(1, on(hall="h"), [], policyType=1))]},
        {"policyDeltas": [delta(UPDATE, policy(1, on(hall="h"), [], policyType="mask"))]},
        {"policyDeltas": [HARMLESS, delta(CREATE, TAG_POLICY)]},
        {"policyDeltas": [HARMLESS], "securityZones": EAST},
        {"policyDeltas": [], "tagPolicies": {**LINKED, "policies": [TAG_POLICY]}},
    ],
)
def test_deltas_that_cannot_be_applied_are_refused_as_a_whole(change: Any) -> None:
    for given_ in ({}, {"tagPolicies": {**LINKED, "policies": []}}):
        with pytest.raises(PolicySetError):
            engine(policy(1, on(hall="h"), []), **given_).with_deltas(
                decode_service_policies(json.dumps(change).encode())
            )


@pytest.mark.parametrize(
    "zones",
    [
        {},
        WEST,
        {**EAST, **WEST},
        {"east": {"zoneName": "east", "resources": [{"hall": ["x"]}]}},
        {"east": {"zoneName": "east", "resources": []}},
        {"east": {**EAST["east"], "containsAssociatedTagService": True}},
        {"east": {**EAST["east"], "policies": [policy(11, on(hall="e"), [])]}},
    ],
    ids=["no zone", "another", "one more", "moved", "without resources", "with its tag service", "with policies"],
)
def test_deltas_do_not_change_which_zones_there_are(zones: Any) -> None:
    inside = policy(11, on(hall="e"), [item("alice", "read")])
    judge = engine(OUTSIDE, securityZones={"east": {**EAST["east"], "policies": [inside]}})
    change = {"policyDeltas": [HARMLESS], "securityZones": zones}
    with pytest.raises(PolicySetError):
        judge.with_deltas(decode_service_policies(json.dumps(change).encode()))
    same = judge.with_deltas(decode_service_policies(json.dumps({**change, "securityZones": EAST}).encode()))
    assert same.evaluate(asks({"hall": "e"})).zone == "east"
    unchanged = judge.with_deltas(decode_service_policies(b'{"policyDeltas": []}'))
    assert unchanged.evaluate(asks({"hall": "e"})).zone == "east"


def test_a_tag_policy_does_not_become_one_of_another_type_by_a_delta() -> None:
    judge = engine(OUTSIDE, tagPolicies={**LINKED, "policies": [TAG_POLICY]})
    update, create = {**TAG_POLICY, "policyType": 2}, {**TAG_POLICY, "id": 3, "policyType": 2}
    with pytest.raises(PolicySetError, match="policy 2 changes its type"):
        after(judge, delta(UPDATE, update), tagPolicies=LINKED)
    assert after(judge, delta(CREATE, create), tagPolicies=LINKED).evaluate(asks({"hall": "h"})).allowed


def test_deltas_of_tag_policies_name_the_tag_service() -> None:
    judge = engine(OUTSIDE, tagPolicies={**LINKED, "policies": [TAG_POLICY]})
    with pytest.raises(PolicySetError, match="tag service"):
        after(judge, delta(UPDATE, TAG_POLICY))
    assert after(judge, delta(UPDATE, TAG_POLICY), tagPolicies=LINKED).evaluate(asks({"hall": "h"})).allowed


def test_deltas_reach_zones_and_tag_policies() -> None:
    zones = {"east": {"zoneName": "east", "resources": [{"hall": ["h"]}], "policies": []}}
    linked = {**LINKED, "policies": [policy(3, {"tag": {"values": ["OTHER"]}}, [])]}
    tags = {
        "serviceResources": [{"id": 1, "resourceElements": on(hall="g")}],
        "tags": {"5": {"id": 5, "type": "SECRET"}},
        "resourceToTagIds": {"1": [5]},
    }
    judge = engine(OUTSIDE, securityZones=zones, tagPolicies=linked, tags=tags)
    assert not judge.evaluate(asks({"hall": "h"})).allowed
    assert judge.evaluate(asks({"hall": "g"})).allowed
    in_zone = [delta(CREATE, policy(1, on(hall="h"), [item("alice", "read")]))]
    new = judge.with_deltas(
        decode_service_policies(
            json.dumps(
                {
                    "policyVersion": 2,
                    "policyDeltas": [delta(CREATE, TAG_POLICY)],
                    "tagPolicies": LINKED,
                    "securityZones": {"east": {**zones["east"], "policyDeltas": in_zone}},
                }
            ).encode()
        )
    )
    assert new.evaluate(asks({"hall": "h"})).zone == "east"
    assert new.evaluate(asks({"hall": "h"})).allowed
    assert new.evaluate(asks({"hall": "g"})).policy_id == 2
    assert judge.evaluate(asks({"hall": "g"})).allowed


def test_the_document_of_a_set_is_not_a_delta() -> None:
    with pytest.raises(PolicySetError, match="contains policies"):
        engine().with_deltas(decode_service_policies(json.dumps(document(policy(1, on(hall="h")))).encode()))
