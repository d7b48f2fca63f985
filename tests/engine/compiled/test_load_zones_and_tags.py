"""How far a zone, a tag or a tagged resource reaches that cannot be read; in safe mode and as Ranger has it."""

from __future__ import annotations

from typing import Any

import pytest

from ranger_cdap.engine import RequestTag
from tests.engine.fixtures import CONDITIONS, RANGER, SHOP, TAG_ENRICHERS, asks, engine, item, on, policy

NOW = 1_700_000_000_000
EVERYBODY = [item("@public", "read")]
OUTSIDE = policy(1, on(hall="*", shelf="*", box="*"), EVERYBODY)
IN_EAST = policy(11, on(hall="*", shelf="*", box="*"), [item("alice", "read")])


def east(*resources: Any) -> Any:
    return {"securityZones": {"east": {"resources": list(resources), "policies": [IN_EAST]}}}


H, HS, HSB, G = {"hall": "h"}, {"hall": "h", "shelf": "s"}, {"hall": "h", "shelf": "s", "box": "b"}, {"hall": "g"}
ALL_OF_IT = [H, HS, HSB, G]

ZONES = [
    # resources of the zone, where nobody may do anything, and where the zone decides
    ([{"hall": ["h"], "shlf": ["s"]}], [H, HS, HSB], []),
    ([{"hall": ["h"], "shelf": ["s"], "bx": ["b"]}], [HS, HSB], []),
    ([{"hall": ["h"], "box": ["b"]}], [H, HS, HSB], []),
    ([{"shelf": ["s"]}], ALL_OF_IT, []),
    ([{}], ALL_OF_IT, []),
    ([{"hall": ["x"], "shlf": ["s"]}], [], []),
    ([{"hall": ["h"], "shelf": ["${{USER.s}}"]}], [H, HS, HSB], []),
    ([{"hall": ["h"], "shlf": ["s"]}, {"hall": ["h"], "shelf": ["s"]}], [], [HS, HSB]),
    ([{"hall": ["h"]}], [], [H, HS, HSB]),
]


@pytest.mark.parametrize(("resources", "nobody", "zoned"), ZONES)
def test_where_a_zone_may_lie_nobody_may_do_anything(resources: Any, nobody: Any, zoned: Any) -> None:
    judge = engine(OUTSIDE, **east(*resources))
    found = {str(where): judge.evaluate(asks(where)) for where in ALL_OF_IT}
    assert [w for w in ALL_OF_IT if not found[str(w)].allowed] == nobody
    assert [w for w in ALL_OF_IT if found[str(w)].zone == "(unreadable)"] == nobody
    assert [w for w in ALL_OF_IT if found[str(w)].zone == "east"] == zoned


@pytest.mark.parametrize(("resources", "nobody", "zoned"), ZONES)
def test_as_ranger_has_it_such_a_resource_is_left_out(resources: Any, nobody: Any, zoned: Any) -> None:
    judge = engine(OUTSIDE, **east(*resources), options=RANGER)
    assert {judge.evaluate(asks(where, "bob")).zone for where in nobody} <= {None, "east"}
    assert all(judge.evaluate(asks(where)).allowed for where in ALL_OF_IT)


def test_no_priority_and_no_tag_outvotes_a_zone_that_cannot_be_read() -> None:
    loud = policy(1, on(hall="h"), EVERYBODY, policyPriority=2**31 - 1)
    tagging = [policy(21, {"tag": {"values": ["T"]}}, [item("@public", "shop:read")], policyPriority=2**31 - 1)]
    judge = engine(loud, **east({"hall": ["h"], "shlf": ["s"]}), **linked(*tagging))
    for access in ("read", "_any"):
        assert not judge.evaluate(asks(H, access=access, tags=(RequestTag(type="T"),))).allowed


TAG_DEFINITION = {
    "name": "tag",
    "resources": [{"name": "tag", "matcherOptions": {"ignoreCase": "false"}}],
    "contextEnrichers": TAG_ENRICHERS,
    "accessTypes": [{"name": "shop:read"}],
}


def linked(*policies: Any, tag: Any = None, resource: Any = None) -> Any:
    tags = {
        "tags": {"1": {"type": "T", **(tag or {})}},
        "serviceResources": [{"id": 7, "resourceElements": resource or on(hall="h", shelf="s")}],
        "resourceToTagIds": {"7": [1]},
    }
    return {"tagPolicies": {"serviceName": "t", "serviceDef": TAG_DEFINITION, "policies": list(policies)}, "tags": tags}


LATER = {"validityPeriods": [{"startTime": "later"}]}
OVER = {"validityPeriods": [{"endTime": "2001/01/01 00:00:00"}]}
OPENS = policy(21, {"tag": {"values": ["T"]}}, [item("@public", "shop:read")])
CLOSES = policy(22, {"tag": {"values": ["T"]}}, [], [item("@public", "shop:read")])
CLOSES_OTHERS = policy(23, {"tag": {"values": ["U"]}}, [], [item("@public", "shop:read")])

TAGS = [
    # what carries the tag, the tag; where a policy for it allows, and where one denies
    (on(hall="h", shelf="s"), {}, [HS, HSB], [HS, HSB]),
    (on(hall="h", shelf="s"), LATER, [], [HS, HSB]),
    (on(hall="h", shelf="s"), OVER, [], []),
    (on(hall="h", shlf="s"), {}, [], [H, HS, HSB]),
    (on(shelf="s"), {}, [], ALL_OF_IT),
    (on(hall="x", shlf="s"), {}, [], []),
    (on(hall="h", shelf="s"), {"type": ""}, [], [HS, HSB]),
]


@pytest.mark.parametrize(("resource", "tag", "opened", "closed"), TAGS)
def test_what_cannot_be_read_of_a_tag_only_counts_against(resource: Any, tag: Any, opened: Any, closed: Any) -> None:
    opening = engine(**linked(OPENS, tag=tag, resource=resource))
    assert [w for w in ALL_OF_IT if opening.evaluate(asks(w, access_time=NOW)).allowed] == opened
    closing = engine(OUTSIDE, **linked(CLOSES, tag=tag, resource=resource))
    assert [w for w in ALL_OF_IT if not closing.evaluate(asks(w, access_time=NOW)).allowed] == closed


LATER_AND_OVER = {"validityPeriods": [{"startTime": "later", "endTime": "2001/01/01 00:00:00"}]}


@pytest.mark.parametrize(("tag", "effective"), [(LATER, True), (LATER_AND_OVER, False)])
def test_as_ranger_has_it_an_unreadable_time_of_a_tag_is_open(tag: Any, effective: bool) -> None:
    judge = engine(**linked(OPENS, tag=tag), options=RANGER)
    assert judge.evaluate(asks(HS, access_time=NOW)).allowed is effective
    assert judge.problems == ()


@pytest.mark.parametrize(("tag", "denied"), [({"type": ""}, True), (LATER, False), ({}, False)])
def test_a_tag_without_a_type_may_be_any(tag: Any, denied: bool) -> None:
    judge = engine(OUTSIDE, **linked(CLOSES_OTHERS, tag=tag))
    assert judge.evaluate(asks(HS, access_time=NOW)).allowed is not denied


ASKING_FOR_TAGS = {
    **SHOP,
    "policyConditions": [
        {"name": "all", "evaluator": CONDITIONS + "RangerTagsAllPresentConditionEvaluator"},
        {"name": "any", "evaluator": CONDITIONS + "RangerAnyOfExpectedTagsPresentConditionEvaluator"},
        {"name": "none", "evaluator": CONDITIONS + "RangerNoneOfExpectedTagsPresentConditionEvaluator"},
    ],
}
BY_TAGS = [
    # the tag, the condition, whether an item with it allows, and whether it denies
    ({}, "all", ["T"], True, True),
    ({}, "none", ["T"], False, False),
    (LATER, "all", ["T"], False, True),
    (LATER, "any", ["T", "U"], False, True),
    (LATER, "none", ["T"], False, True),
    (LATER, "none", ["U"], True, True),
    (LATER, "all", ["U"], False, False),
    ({"type": ""}, "all", ["U"], False, True),
    ({"type": ""}, "none", ["U"], False, True),
]


@pytest.mark.parametrize(("tag", "kind", "values", "allows", "denies"), BY_TAGS)
def test_a_condition_on_such_a_tag_cannot_be_evaluated(
    tag: Any, kind: str, values: list[str], allows: bool, denies: bool
) -> None:
    asking = item("alice", "read", conditions=[{"type": kind, "values": values}])
    download = {**linked(OPENS, tag=tag), "serviceDef": ASKING_FOR_TAGS}
    download["tagPolicies"]["policies"] = []
    allowing = engine(policy(1, on(hall="h", shelf="s"), [asking]), **download)
    denying = engine(policy(1, on(hall="h", shelf="s"), EVERYBODY, [asking]), **download)
    assert allowing.evaluate(asks(HS, access_time=NOW)).allowed is allows
    assert denying.evaluate(asks(HS, access_time=NOW)).allowed is not denies


def test_an_unreadable_policy_for_tags_of_a_zone_denies_in_the_zone() -> None:
    zone = {"securityZones": {"east": {"resources": [{"hall": ["h"]}], "policies": [IN_EAST]}}}
    zone["securityZones"]["east"]["containsAssociatedTagService"] = True
    for broken in ({**CLOSES, "zoneName": []}, {**CLOSES, "zoneName": "east", "name": []}, "no policy at all"):
        judge = engine(**zone, **linked(broken))
        assert not judge.evaluate(asks(HS)).allowed
    assert engine(**zone, **linked({**CLOSES, "zoneName": "west"})).evaluate(asks(HS)).allowed
