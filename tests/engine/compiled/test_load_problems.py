"""Every kind of problem is reported with policy, place and code; docs/reference/policy-problems.md lists the codes."""

from __future__ import annotations

import json
import re
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.engine import ProblemCode
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.engine.fixtures import CONDITIONS, RANGER, asks, engine, item, on, policy

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "policy-problems.md"
HERE = on(hall="h")
PUBLIC = [item("@public", "read")]
GOOD = policy(1, HERE, PUBLIC)
LEVELS = (("hall",), ("hall", "shelf"), ("hall", "till"))
SCRIPT = {"type": "script", "values": ["true"]}
LATER = {"startTime": "later"}


def one(**more: Any) -> dict[str, Any]:
    return {**policy(2, HERE, PUBLIC), **more}


OF_POLICIES = [
    # a policy, and what is told of it: place and code
    (one(policyItems="all"), [("policyItems", "unreadable-policy")]),
    (
        one(denyPolicyItems=[item("a", "read"), {"users": ["a", 5], "conditions": [[]]}], version=[]),
        [
            ("version", "unreadable-policy"),
            ("denyPolicyItems[1].users[1]", "unreadable-policy"),
            ("denyPolicyItems[1].conditions[0]", "unreadable-policy"),
        ],
    ),
    (one(resources={"hall": {"values": [[]]}}), [("resources.hall.values[0]", "unreadable-policy")]),
    (one(resources={"hall": None}), [("resources.hall", "unreadable-policy")]),
    (one(policyPriority=2**31), [("policyPriority", "unreadable-policy")]),
    (one(resources=on(hal="h", shelf="s")), [("resources.hal", "unknown-resource")]),
    (one(additionalResources=[HERE, on(hall="h", box="b")]), [("additionalResources[1]", "no-hierarchy")]),
    (one(resources=on(hall="${{USER.x}}")), [("resources.hall", "resource-expression")]),
    (one(resources=on(hall="h", shelf="s" * 8_193)), [("resources.shelf", "value-too-long")]),
    (one(resources=on(hall=[f"*{'a' * 99}{n}?*" for n in range(100)])), [("resources", "costly-resource")]),
    (one(policyItems=[item("a", "read")] * 1_500), [("", "costly-policy")]),
    (
        one(allowExceptions=[item("a", "read", "raed")], denyPolicyItems=[item("a", "wirte")]),
        [
            ("denyPolicyItems[0].accesses[0]", "unknown-access-type"),
            ("allowExceptions[0].accesses[1]", "unknown-access-type"),
        ],
    ),
    (
        one(conditions=[SCRIPT], denyPolicyItems=[item("a", "read"), item("b", "read", conditions=[SCRIPT])]),
        [("conditions[0]", "unusable-condition"), ("denyPolicyItems[1].conditions[0]", "unusable-condition")],
    ),
    (one(validitySchedules=[{}, LATER]), [("validitySchedules[1]", "unreadable-schedule")]),
    (one(validitySchedules=[{"timeZone": "Nowhere/Land"}]), [("validitySchedules[0]", "unreadable-schedule")]),
    (one(policyType=1, dataMaskPolicyItems=[{}]), [("policyType", "not-about-access")]),
    (one(policyType=2, rowFilterPolicyItems=[{}]), [("policyType", "not-about-access")]),
    (one(policyType=7), [("policyType", "not-about-access")]),
    (
        one(dataMaskPolicyItems=[{"users": ["alice"], "accesses": [{"type": "read"}]}], rowFilterPolicyItems=[{}]),
        [("dataMaskPolicyItems", "not-about-access"), ("rowFilterPolicyItems", "not-about-access")],
    ),
    (one(dataMaskPolicyItems=[], rowFilterPolicyItems=[]), []),
    (one(isEnabled=False, conditions=[SCRIPT]), []),
    (GOOD, [("id", "duplicate-id"), ("id", "duplicate-id")]),
]


@pytest.mark.parametrize(("odd", "told"), OF_POLICIES)
def test_a_policy_s_problems_have_its_id_their_place_and_a_code(odd: Any, told: Any) -> None:
    problems = engine(GOOD, odd).problems
    assert [(p.place, p.code) for p in problems] == told
    assert {(p.policy_id, p.policy_name) for p in problems} <= {(odd["id"], odd["name"])}


BRANCHES = [
    # a request, and whether a policy denies it whose resource names two branches below hall `h`
    ({"hall": "h"}, True),
    ({"hall": "h", "shelf": "s"}, True),
    ({"hall": "h", "shelf": "other"}, True),
    ({"hall": "h", "till": "other"}, True),
    ({"hall": "x", "shelf": "s"}, False),
]


@pytest.mark.parametrize(("where", "denied"), BRANCHES)
def test_a_denial_on_two_branches_covers_all_below_what_they_share(where: dict[str, str], denied: bool) -> None:
    allows = [policy(n, on(**dict.fromkeys(names, "*")), PUBLIC) for n, names in enumerate(LEVELS, start=10)]
    judge = engine(*allows, policy(2, on(hall="h", shelf="s", till="t"), [], PUBLIC))
    assert judge.evaluate(asks(where)).allowed is not denied


def test_a_condition_without_a_factory_says_no_reason() -> None:
    (problem,) = engine(GOOD, one(conditions=[SCRIPT])).problems
    assert problem.message == "condition `script` cannot be evaluated: it allows nothing, and denials apply"


def test_only_what_denies_in_place_of_a_policy_is_a_substitute() -> None:
    judge = engine(GOOD, one(policyItems="all", denyPolicyItems=[item("a", "read")]))
    assert not judge.evaluate(asks({"hall": "h"})).allowed  # now all are compiled
    assert {entry.compiled.id: entry.is_substitute for entry in judge._state.default.all()} == {1: False, 2: True}


INEFFECTIVE = [
    # resources that match nothing as Ranger reads them, and what is told of it
    (one(resources=on(hal="h", shelf="s")), "resources.hal", "unknown-resource"),
    (one(additionalResources=[HERE, on(hall="h", box="b")]), "additionalResources[1]", "no-hierarchy"),
]


@pytest.mark.parametrize(("odd", "place", "code"), INEFFECTIVE)
def test_compatible_with_ranger_a_resource_that_matches_nothing_is_told_of(odd: Any, place: str, code: str) -> None:
    problems = engine(GOOD, odd, options=RANGER).problems
    assert [(p.policy_id, p.place, p.code) for p in problems] == [(2, place, code)]
    assert problems[0].message.endswith(", so it matches nothing")


@pytest.mark.parametrize(("name", "shown"), [("policy 2", "policy 2"), (5, "")])
def test_what_denies_in_place_of_an_unreadable_policy_is_named_as_that_policy(name: Any, shown: str) -> None:
    odd = one(policyItems="all", denyPolicyItems=[item("a", "read")], version=7, name=name)
    decided = engine(GOOD, odd).explain(asks({"hall": "h"}))
    assert (decided.allowed, decided.policy_id, decided.policy_version) == (False, 2, 7)
    assert {entry.policy_id: entry.policy_name for entry in decided.trace}[2] == shown


@pytest.mark.parametrize(
    ("own", "other", "allowed"), [({}, 0, False), ({}, 1, True), ({"policyPriority": 1}, 1, False)]
)
def test_it_has_the_priority_of_that_policy(own: dict[str, int], other: int, allowed: bool) -> None:
    odd = one(policyItems="all", denyPolicyItems=[item("a", "read")], **own)
    judge = engine(policy(1, HERE, PUBLIC, policyPriority=other), odd)
    assert judge.evaluate(asks({"hall": "h"})).allowed is allowed


TAG = {"name": "tag", "resources": [{"name": "tag"}], "accessTypes": [{"name": "shop:read"}]}
EXPIRED = {
    "name": "expired",
    "evaluator": CONDITIONS + "RangerScriptTemplateConditionEvaluator",
    "evaluatorOptions": {"scriptTemplate": "ctx.isAccessedAfter('date')"},
}
EXPIRING = {"serviceName": "t", "serviceDef": {**TAG, "policyConditions": [EXPIRED]}}


def tagged(resource: Any = HERE, **tag: Any) -> Any:
    tags = {"3": {"type": "T", **tag}}
    return {"tags": tags, "serviceResources": [{"id": 7, "resourceElements": resource}], "resourceToTagIds": {"7": [3]}}


def zoned(**resource: list[str]) -> Any:
    return {"securityZones": {"z": {"resources": [{"hall": ["x"]}, resource]}}}


OF_THE_REST = [
    # what else is in the download, and what is told of it
    (zoned(hall=["h"], shlf=["s"]), "securityZones.z.resources[1].shlf", "unreadable-zone-resource"),
    (zoned(hall=["h"], box=["b"]), "securityZones.z.resources[1]", "unreadable-zone-resource"),
    (zoned(), "securityZones.z.resources[1]", "unreadable-zone-resource"),
    ({"tags": tagged(validityPeriods=[{}, LATER])}, "tags[3].validityPeriods[1]", "unreadable-tag-validity"),
    ({"tagPolicies": EXPIRING, "tags": tagged(attributes={"date": "later"})},
     "tags[3].attributes.date", "unreadable-tag-date"),
    ({"tags": tagged(on(hal="h"))}, "serviceResources[0].resourceElements.hal", "unreadable-tagged-resource"),
    ({"tags": {**tagged(), "serviceResources": [{"resourceElements": HERE}]}},
     "serviceResources[0].id", "unreadable-tagged-resource"),
    ({"tags": {**tagged(), "tags": {}}}, "tags[3]", "unknown-tag"),
    ({"tags": tagged(type="")}, "tags[3]", "unknown-tag"),
    ({"serviceConfig": {"ranger.plugin.audit.filters": "[{"}},
     "serviceConfig.ranger.plugin.audit.filters", "unreadable-audit-filters"),
    (
        {"tagPolicies": {"serviceName": "t", "serviceDef": TAG, "serviceConfig": {"ranger.plugin.audit.filters": "x"}}},
        "tagPolicies.serviceConfig.ranger.plugin.audit.filters",
        "unreadable-audit-filters",
    ),
    ({"roles": [{"name": "a", "roles": [{"name": "a"}]}]}, "rangerRoles[a]", "role-cycle"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "place", "code"), OF_THE_REST)
def test_what_is_no_policy_has_a_place_in_the_download(more: Any, place: str, code: str) -> None:
    problems = engine(GOOD, **more).problems
    assert [(p.policy_id, p.place, p.code) for p in problems] == [(None, place, code)]
    assert str(problems[0]).startswith(f"{place}: ")


SAID = {
    # of each code, what its first problem above says
    "unreadable-policy": "it cannot be read: expected `array`, got `str`; the policy is left out",
    "duplicate-id": "two policies have the id 1; the policy is left out",
    "not-about-access": "a policy of type 1 does not control access (it masks data), so it is ignored",
    "unknown-resource": "the service definition has no such resource; the policy is left out",
    "no-hierarchy": "it fits no hierarchy of the service definition; the policy is left out",
    "resource-expression": "a value holds an expression that only JavaScript can evaluate; the policy is left out",
    "value-too-long": "a value is longer than 8192 characters; the policy is left out",
    "costly-resource": "matching values of 1000 characters with all of its wildcards takes more than 4000000 steps, so"
    " such values are not matched: it allows nothing there, and denies if it can deny",
    "costly-policy": "it has more than 100,000 bytes, so decisions about it can take long: divide it",
    "unknown-access-type": "the service definition has no access type `wirte`; in denials it covers every access type",
    "unusable-condition": "condition `script` cannot be evaluated: it allows nothing, and denials apply",
    "unreadable-schedule": "`later` is not a time like 2026/11/21 08:00:00; the policy is left out",
    "unreadable-zone-resource": "the service definition has no such resource, so all access to resources that it may"
    " cover is denied",
    "unreadable-tagged-resource": "the service definition has no such resource, so its tags apply to all resources it"
    " may cover, for denials only",
    "unreadable-tag-validity": "`later` is not a time like 2026/11/21 08:00:00, so tag `T` only denies, at any time",
    "unreadable-tag-date": "`later` is not a date like 2026/11/22 or 2026-11-22T18:30:00.000Z: a condition on it allows"
    " nothing, and denials apply",
    "unknown-tag": "the type of tag 3 of a resource is unknown; it may be any tag, for denials only",
    "unreadable-audit-filters": "the audit filters cannot be read, so none are used",
    "role-cycle": "these roles contain each other, so they have the same members: `a` in `a`",
}


def test_each_code_has_its_sentence() -> None:
    engines = [engine(GOOD, odd) for odd, _ in OF_POLICIES] + [engine(GOOD, **more) for more, *_ in OF_THE_REST]
    said: dict[str, str] = {}
    for problem in chain.from_iterable(one.problems for one in engines):
        said.setdefault(problem.code, problem.message)
    assert said == SAID


def test_of_a_long_cycle_of_roles_the_first_eight_are_named() -> None:
    roles = [{"name": one, "roles": [{"name": other}]} for one, other in pairwise("abcdefgha")]
    (problem,) = engine(GOOD, roles=roles).problems
    assert problem.message.endswith(": `b` in `c` in `d` in `e` in `f` in `g` in `h` in `a` …")


def test_masks_and_row_filters_never_decide_access() -> None:
    items = [item("@public", "read")]
    masks = [
        one(policyType=n, policyItems=items, dataMaskPolicyItems=items, rowFilterPolicyItems=items) for n in (1, 2)
    ]
    inside = policy(3, HERE, dataMaskPolicyItems=items, rowFilterPolicyItems=items)
    for options in ({}, {"options": RANGER}):
        assert not engine(*masks, inside, **options).evaluate(asks({"hall": "h"})).allowed


def test_the_documentation_lists_every_code_and_no_other() -> None:
    of_the_engine = DOCS.read_text(encoding="utf-8").split("\n## ")[0]
    listed = re.findall(r"^\| `([a-z-]+)` \|", of_the_engine, re.MULTILINE)
    shown = {code for _, told in OF_POLICIES for _, code in told} | {code for *_, code in OF_THE_REST}
    assert listed == [code.value for code in ProblemCode]
    assert shown == set(listed)


def test_a_delta_that_heals_a_policy_takes_its_problem_away() -> None:
    broken = engine(one(conditions=[SCRIPT]))
    assert len(broken.problems) == 1
    healed_policy = {"changeType": 1, "policy": one(serviceType="shop")}
    delta = {"policyDeltas": [healed_policy]}
    healed = broken.with_deltas(decode_service_policies(json.dumps(delta).encode()))
    assert healed.problems == ()
    assert healed.evaluate(asks({"hall": "h"})).allowed
    assert not broken.evaluate(asks({"hall": "h"})).allowed
