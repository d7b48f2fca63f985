"""The proposal allows exactly what was allowed and used, and nothing in it is superfluous."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import servicedef
from ranger_cdap.engine import AccessRequest, PolicyEngine, decode_service_policies
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.tools.insights.facts import AuditFacts
from ranger_cdap.tools.insights.proposal import (
    ANY_PRIVILEGE,
    IMPLIES_MORE,
    MACRO,
    NO_USER,
    SAME_NAME,
    SEVERAL_ZONES,
    Proposal,
    propose,
)
from ranger_cdap.tools.insights.request import NO_ACCESS, NO_TYPE, OUTSIDE
from tests.authz.fixtures import document, engine
from tests.tools.insights.audit_fixtures import facts_of, line

USERS = ("alice", "bob", "public")
ACCESSES = ("read", "write")
RESOURCES = (
    ("instance", "cdap"),
    ("instance", "other"),
    *(("namespace", f"cdap/{ns}") for ns in ("ns1", "ns2")),
    *(
        ("dataset", f"{instance}/{ns}/{name}")
        for instance in ("cdap", "other")
        for ns in ("ns1", "ns2")
        for name in "ab"
    ),
    ("application", "cdap/ns1/a"),
    ("program", "cdap/ns1/a/workflow.W"),
    ("principal", "cdap/svc/host@REALM"),
)
EMPTY = engine([])
Key = tuple[str, str, str, str]

KEYS = [(user, access, *resource) for user in USERS for access in ACCESSES for resource in RESOURCES]


def facts(allowed: Sequence[Key], denied: Sequence[Key] = ()) -> AuditFacts:
    return facts_of(
        [
            line(reqUser=user, action=access, resType=kind, resource=resource, result=result)
            for result, keys in ((1, allowed), (0, denied))
            for user, access, kind, resource in keys
        ]
    )


def built(policies: Sequence[dict[str, Any]], definition: dict[str, Any] | None = None, **more: Any) -> PolicyEngine:
    numbered = [{**policy, "id": number} for number, policy in enumerate(policies, 1)]
    return PolicyEngine.build(decode_service_policies(msgspec.json.encode({**document(numbered, definition), **more})))


def allows(made: PolicyEngine, key: Key) -> bool:
    user, access, kind, resource = key
    path = made.view.model.paths[kind]
    levels = dict(zip(path, resource.split("/", len(path) - 1), strict=True))
    return made.evaluate(AccessRequest(levels, access, user)).allowed


def smaller(policies: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The policies without one part: a policy, an item, a user, an access type, or a value of a level."""
    for number, policy in enumerate(policies):
        yield [one for n, one in enumerate(policies) if n != number]
        lists: list[tuple[Any, ...]] = [("policyItems",)]
        lists += [("resources", level, "values") for level in policy["resources"]]
        lists += [("policyItems", n, name) for n in range(len(policy["policyItems"])) for name in ("users", "accesses")]
        for place in lists:
            for at in range(len(_at(policy, place))):
                if len(_at(policy, place)) > 1:
                    copied = copy.deepcopy(list(policies))
                    del _at(copied[number], place)[at]
                    yield copied


def _at(policy: dict[str, Any], place: tuple[Any, ...]) -> list[Any]:
    found: Any = policy
    for name in place:
        found = found[name]
    assert isinstance(found, list)
    return found


@settings(max_examples=80, deadline=None)
@given(st.sets(st.sampled_from(KEYS), max_size=25), st.sets(st.sampled_from(KEYS), max_size=10))
def test_it_allows_exactly_what_was_used_and_nothing_in_it_is_superfluous(used: set[Key], denied: set[Key]) -> None:
    found = propose(facts(sorted(used), sorted(denied - used)), EMPTY)
    assert found.left_out == ()
    made = built(found.policies)
    assert {key for key in KEYS if allows(made, key)} == used
    for fewer in smaller(found.policies):
        other = built(fewer)
        assert any(not allows(other, key) for key in used)


@settings(max_examples=80, deadline=None)
@given(st.sets(st.sampled_from(KEYS), max_size=40))
def test_no_two_policies_could_be_one(used: set[Key]) -> None:
    for one, other in combinations(propose(facts(sorted(used)), EMPTY).policies, 2):
        if one["resources"].keys() != other["resources"].keys():
            continue
        differing = [level for level, found in one["resources"].items() if found != other["resources"][level]]
        assert differing, "no two policies have the same resource"
        assert len(differing) > 1 or one["policyItems"] != other["policyItems"]


def test_a_rectangle_of_uses_is_one_policy() -> None:
    used = [(user, "read", "dataset", f"cdap/{ns}/{name}") for user, ns, name in product("ab", ("x", "y"), ("1", "2"))]
    (only,) = propose(facts(used), EMPTY).policies
    assert {level: found["values"] for level, found in only["resources"].items()} == {
        "instance": ["cdap"],
        "namespace": ["x", "y"],
        "dataset": ["1", "2"],
    }
    assert [(item["users"], item["accesses"]) for item in only["policyItems"]] == [(["a", "b"], [{"type": "read"}])]


def test_a_policy_rather_holds_entities_of_a_namespace_than_namespaces() -> None:
    used = [("alice", "read", "dataset", f"cdap/{name}") for name in ("ns1/a", "ns1/b", "ns2/a")]
    policies = propose(facts(used), EMPTY).policies
    assert sorted(
        (*one["resources"]["namespace"]["values"], *one["resources"]["dataset"]["values"]) for one in policies
    ) == [
        ("ns1", "a", "b"),
        ("ns2", "a"),
    ]


def proposal(**fields: Any) -> Proposal:
    return propose(facts_of([line(event_count=3, **fields)]), EMPTY)


@pytest.mark.parametrize(
    ("why", "fields"),
    [
        (NO_USER, {"reqUser": ""}),
        (ANY_PRIVILEGE, {"action": "any"}),
        (NO_ACCESS, {"action": "assign"}),
        (NO_TYPE, {"resType": "table"}),
        (MACRO, {"reqUser": "{USER}"}),
        (MACRO, {"resource": "cdap/ns1/a*"}),
        (MACRO, {"resource": "cdap//a"}),
        (MACRO, {"resource": "cdap/ns1/a\\"}),
    ],
)
def test_what_no_policy_can_name_exactly_is_left_out_and_counted(why: str, fields: dict[str, Any]) -> None:
    assert proposal(**fields) == Proposal((), ((why, 3),))


def test_what_another_authorizer_allowed_is_left_out() -> None:
    from ranger_cdap.tools.insights.replay import Replayer

    found = facts_of([line(enforcer="hadoop-acl")], decide=Replayer(EMPTY, {}).decide)
    assert propose(found, EMPTY) == Proposal((), ((OUTSIDE, 1),))


def test_letters_of_another_case_and_implied_access_types_never_allow_more() -> None:
    definition = {
        "name": "hive",
        "resources": [
            {
                "name": "table",
                "level": 10,
                "matcher": "org.apache.ranger.plugin.resourcematcher.RangerDefaultResourceMatcher",
                "matcherOptions": {"wildCard": "true", "ignoreCase": "true"},
            }
        ],
        "accessTypes": [{"name": "read"}, {"name": "all", "impliedGrants": ["read"]}],
    }
    empty = built([], definition)

    def left(*used: tuple[str, str, int]) -> tuple[dict[str, int], set[tuple[str, str]]]:
        lines = [line(action=access, resType="table", resource=name, result=result) for access, name, result in used]
        found = propose(facts_of(lines), empty)
        made = built(found.policies, definition)
        universe = {(access, name) for access, name, _ in used} | {("read", name) for _, name, _ in used}
        return dict(found.left_out), {one for one in universe if allows(made, ("alice", one[0], "table", one[1]))}

    assert left(("read", "T", 1), ("read", "t", 0)) == ({SAME_NAME: 1}, set())
    assert left(("read", "T", 1), ("read", "t", 1)) == ({}, {("read", "T"), ("read", "t")})
    assert left(("all", "t", 1)) == ({IMPLIES_MORE: 1}, set())
    assert left(("all", "t", 1), ("read", "t", 1)) == ({}, {("all", "t"), ("read", "t")})


def test_a_policy_of_a_zone_is_in_the_zone() -> None:
    zones = {
        "finance": {
            "zoneName": "finance",
            "resources": [{"instance": ["cdap"], "namespace": ["ns1"], "dataset": ["*"]}],
        },
        "both": {
            "zoneName": "both",
            "resources": [{"instance": ["cdap"], "namespace": ["ns*"], "dataset": ["shared"]}],
        },
    }
    zoned = built([], servicedef.service_definition(), securityZones=zones)
    used = [("alice", "read", "dataset", f"cdap/{name}") for name in ("ns1/a", "ns2/a", "ns1/shared")]
    found = propose(facts(used), zoned)
    assert [one.get("zoneName", "") for one in sorted(found.policies, key=lambda one: str(one["resources"]))] == [
        "finance",
        "",
    ]
    assert found.left_out == ((SEVERAL_ZONES, 1),)
    inside = [{**one, "id": n} for n, one in enumerate(found.policies, 1) if one.get("zoneName")]
    outside = [one for one in found.policies if not one.get("zoneName")]
    with_policies = {**zones, "finance": {**zones["finance"], "policies": [{**one, "id": 9} for one in inside]}}
    made = built(outside, servicedef.service_definition(), securityZones=with_policies)
    assert [allows(made, key) for key in used] == [True, True, False]


def test_it_is_a_collection_that_can_be_imported() -> None:
    found = propose(
        facts([("alice", "read", "dataset", "cdap/ns1/a"), ("bob", "read", "namespace", "cdap/ns1")]), EMPTY
    )
    current = PolicyCollection.of_download(msgspec.json.encode(document([])))
    again = PolicyCollection.of_document({"policies": list(found.policies)})
    assert current.with_policies(found.policies).policies == again.policies
    assert len(again.policies) == 2
