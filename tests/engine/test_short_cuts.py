"""Requests by the short cuts, whatever was asked before, and in general with a trace: all say the same."""

from __future__ import annotations

import random
from typing import Any

import pytest
from msgspec.structs import replace

from ranger_cdap.engine import AccessRequest, ElementScope, MatchingScope, PolicyEngine, RequestTag
from tests.engine.fixtures import engine as build
from tests.engine.fixtures import item, on, policy

ENGINE = {
    "names only": [
        policy(1, on(hall="a", shelf="b"), [item("alice @staff", "read")], [item("bob", "write")]),
        policy(2, on(hall="a"), [item("@staff", "own")]),
        policy(3, on(hall="*", shelf="b*"), [item("{USER}", "write")]),
    ],
    "with a condition": [
        policy(1, on(hall="a", shelf="b"), [item("alice", "read", conditions=[{"type": "ip", "values": ["10.*"]}])]),
    ],
    "for owners": [policy(1, on(hall="a", shelf="b"), [item("{OWNER}", "read", "write")])],
    "with a macro": [policy(1, on(hall="a", shelf="{USER}"), [item("alice bob", "read")])],
}

ODD: dict[str, dict[str, Any]] = {
    "nobody": {"user": None},
    "an empty name": {"user": ""},
    "other groups": {"groups": frozenset({"staff"})},
    "unknown groups": {"groups_known": False},
    "roles given": {"roles": frozenset({"lead"})},
    "no roles given": {"roles": frozenset()},
    "an owner": {"owner": "alice"},
    "an empty owner": {"owner": ""},
    "nobody owns it, nobody asks": {"user": "", "owner": ""},
    "below": {"matching_scope": MatchingScope.SELF_OR_DESCENDANTS},
    "any": {"access_type": "_any"},
    "no access type": {"access_type": ""},
    "grant": {"access_type": "_admin"},
    "super user": {"access_type": "_super_user"},
    "unknown access type": {"access_type": "fly"},
    "several access types": {"all_access_types": ("read", "write")},
    "groups of access types": {"all_access_type_groups": (frozenset({"read"}), frozenset({"write"}))},
    "a scope": {"element_scopes": {"shelf": ElementScope.SELF_OR_PREFIX}},
    "several values": {"resource": {"hall": "a", "shelf": ("b", "c")}},
    "a list of values": {"resource": {"hall": "a", "shelf": ["b", "c"]}},
    "another order of levels": {"resource": {"shelf": "b", "hall": "a"}},
    "one level": {"resource": {"hall": "a"}},
    "no resource": {"resource": {}},
    "unknown levels": {"resource": {"hall": "a", "garden": "b"}},
    "all of a level": {"resource": {"hall": "a", "shelf": "*"}},
    "not a text": {"resource": {"hall": "a", "shelf": 7}},
    "a tag": {"tags": (RequestTag(type="PII"),)},
    "from somewhere": {"client_ip": "10.1.2.3"},
    "another address": {"client_ip": "11.1.2.3"},
}


def asked(user: str, access: str, odd: dict[str, Any]) -> AccessRequest:
    given: dict[str, Any] = {"resource": {"hall": "a", "shelf": "b"}, "access_type": access, "user": user}
    return AccessRequest(**given | odd)


def compare(engine: PolicyEngine, requests: list[AccessRequest]) -> None:
    one_by_one = [engine.evaluate(request) for request in requests]
    assert [engine.evaluate(request) for request in requests] == one_by_one
    in_general = [replace(engine.explain(request), trace=()) for request in requests]
    assert one_by_one == in_general


@pytest.mark.parametrize("policies", ENGINE.values(), ids=ENGINE)
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_odd_request_among_usual_ones(policies: list[dict[str, Any]], odd: dict[str, Any]) -> None:
    engine = build(*policies)
    usual = [asked(user, access, {}) for user in ("alice", "bob", "") for access in ("read", "write")]
    odd_ones = [asked(user, access, odd) for user in ("alice", "bob") for access in ("read", "write")]
    compare(engine, [*usual, *odd_ones, *usual])
    compare(build(*policies), [*odd_ones, *usual, *odd_ones])


@pytest.mark.parametrize("policies", ENGINE.values(), ids=ENGINE)
def test_any_order_of_all_of_them(policies: list[dict[str, Any]]) -> None:
    requests = [asked(user, "read", odd) for user in ("alice", "bob") for odd in ODD.values()]
    chance = random.Random(20261121)
    engine = build(*policies)
    for _ in range(20):
        chance.shuffle(requests)
        compare(engine, requests)
        compare(build(*policies), requests)


def test_a_single_level_asked_for_as_a_list_does_not_raise() -> None:
    engine = build(policy(1, on(hall="a"), [item("alice", "read")]))
    for hall in (["a"], ("a",), {"a": 1}, None):
        request = AccessRequest({"hall": hall}, "read", "alice")  # type: ignore[dict-item]
        compare(engine, [request, request])


def test_names_in_another_order_are_the_same_resource() -> None:
    engine = build(policy(1, on(hall="a", shelf="b"), [item("alice", "read")]))
    there = [AccessRequest({"hall": "a", "shelf": "b"}, "read", "alice")]
    back = [AccessRequest({"shelf": "b", "hall": "a"}, "read", "alice")]
    assert [engine.evaluate(request).allowed for request in there + back + there] == [True] * 3
