"""Script conditions against Ranger's engine with GraalJS: never more is allowed, and what is known is the same."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ranger_cdap.engine import ConditionOutcome, EngineOptions, PolicyEngine
from ranger_cdap.expressions import EVALUATOR, NotInSubset, script_conditions
from ranger_cdap.expressions.script_condition import read_condition
from ranger_cdap.ranger_model.decode import (
    decode_roles,
    decode_service_policies,
    decode_service_tags,
    decode_user_store,
)
from tests.differential.java_engine import JavaEngine
from tests.differential.our_engine import read_request
from tests.differential.phenomena_tags import tag_definition
from tests.differential.script_texts import comparisons, heaps
from tests.differential.small_documents import NOW, item, on, policy
from tests.differential.strategies import numbered

Json = dict[str, Any]

pytestmark = pytest.mark.java

DEFINITION: Json = {
    "name": "t",
    "resources": [
        {"name": "r0", "level": 10, "isValidLeaf": True},
        {"name": "r1", "level": 20, "parent": "r0", "isValidLeaf": True},
    ],
    "accessTypes": [{"name": "read"}],
    "policyConditions": [{"itemId": 1, "name": "_expression", "evaluator": EVALUATOR}],
    "contextEnrichers": [
        {"itemId": 1, "name": "u", "enricher": "org.apache.ranger.plugin.contextenricher.RangerUserStoreEnricher"}
    ],
}
USERS = {
    "userStoreVersion": 1,
    "userAttrMapping": {"alice": {"dept": "eng", "level": "7", "list": "a,b", "\u00e9": "\uff21"}, "bob": {}},
    "groupAttrMapping": {"g1": {"site": "A", "cost": "10"}, "g2": {"site": "B"}},
}
ROLES = {
    "serviceName": "s",
    "roleVersion": 1,
    "rangerRoles": [
        {"id": 1, "name": "ops", "users": [{"name": "alice"}]},
        {"id": 2, "name": "aux", "groups": [{"name": "g1"}]},
    ],
}
PII = {"type": "PII", "attributes": {"level": "3", "site": "A"}}
FULL: Json = {
    "user": "alice",
    "groups": ["g2", "g1"],
    "accessType": "read",
    "accessTime": NOW,
    "clientIP": "10.0.0.1",
    "action": "query",
    "clusterName": "c1",
    "clusterType": "k",
    "resourceOwner": "bob",
    "tags": [PII, {"type": "X", "attributes": {}}],
}
ASKED = {
    "all that a request can have": FULL,
    "somebody else, of no group": {**FULL, "user": "bob", "groups": []},
    "no tags, no owner, no cluster": {
        k: v for k, v in FULL.items() if k not in ("tags", "resourceOwner", "clusterName", "clusterType")
    },
    "no address, no action": {k: v for k, v in FULL.items() if k not in ("clientIP", "action")},
    "two tags of one type": {**FULL, "tags": [PII, {"type": "PII", "attributes": {"level": "4"}}]},
}


def scenario(scripts: list[str], asked: Json) -> tuple[Json, list[Json]]:
    """Each script as the condition of an allow item, of a deny item, of a policy and of a tag policy."""
    policies, linked, requests = [], [], []
    for n, script in enumerate(scripts):
        condition = [{"type": "_expression", "values": [script]}]
        policies += [
            policy(on(r0=[f"allow{n}"], r1=["*"]), [item(conditions=condition)]),
            policy(on(r0=[f"deny{n}"], r1=["*"]), [item()], [item(conditions=condition)]),
            policy(on(r0=[f"whole{n}"], r1=["*"]), [item()], conditions=condition),
        ]
        linked.append(policy(on(tag=[f"T{n}"]), [item("t:read", conditions=condition)]))
        requests += [{**asked, "resource": {"r0": f"{kind}{n}", "r1": "x"}} for kind in ("allow", "deny", "whole")]
        tags = [*asked.get("tags", ()), {"type": f"T{n}", "attributes": {"level": "9"}}]
        requests.append({**asked, "resource": {"r0": "elsewhere", "r1": "x"}, "tags": tags})
    definition = {**tag_definition(DEFINITION, with_enricher=False), "policyConditions": DEFINITION["policyConditions"]}
    download = {
        "serviceName": "s",
        "policyVersion": 1,
        "serviceDef": DEFINITION,
        "policies": numbered(policies),
        "tagPolicies": {
            "serviceName": "tags",
            "policyVersion": 1,
            "serviceDef": definition,
            "policies": numbered(linked, first=10_000, names="tag policy"),
        },
    }
    return {"policies": download, "userStore": USERS, "roles": ROLES}, requests


def ours(given: Json, compatibility: Any) -> PolicyEngine:
    return PolicyEngine.build(
        decode_service_policies(msgspec.json.encode(given["policies"])),
        roles=decode_roles(msgspec.json.encode(given["roles"])),
        tags=decode_service_tags(b"{}"),
        attributes=decode_user_store(msgspec.json.encode(USERS)),
        options=EngineOptions(compatibility=compatibility, conditions=script_conditions()),
    )


def is_known(script: str, engine: PolicyEngine, request: Json) -> bool:
    """Whether Java's result is known: all of it, and whatever the request lacks, is in the subset."""
    try:
        condition = read_condition([script], {})
    except NotInSubset:
        return False
    return condition(engine.context_of(read_request(request))) is not ConditionOutcome.UNKNOWN


def compare(java: JavaEngine, scripts: list[str], asked: Json) -> int:
    """Compare all decisions; the number of scripts whose result for the resource policies is known."""
    given, requests = scenario(scripts, asked)
    java.load(given)
    theirs = [bool(answer["allowed"]) for answer in java.evaluate(requests)]
    safe, ranger = ours(given, "safe"), ours(given, "ranger")
    known = [is_known(script, ranger, request) for script, request in zip(scripts, requests[::4], strict=True)]
    for n, (request, java_allows) in enumerate(zip(requests, theirs, strict=True)):
        script, kind = scripts[n // 4], ("allow item", "deny item", "policy", "tag policy")[n % 4]
        asked_of_us = read_request(request)
        allowed = {"safe": safe.evaluate(asked_of_us).allowed, "ranger": ranger.evaluate(asked_of_us).allowed}
        for mode, ours_allows in allowed.items():
            assert java_allows or not ours_allows, f"{mode} allows what Java denies: {kind} with {script!r}"
        if kind != "tag policy" and known[n // 4]:
            assert allowed["ranger"] == java_allows, f"ranger differs from Java: {kind} with {script!r}"
    return sum(known)


some = settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)


@some
@given(st.lists(comparisons(), min_size=12, max_size=12), st.sampled_from(sorted(ASKED)))
def test_scripts_decide_as_in_java_or_not(java_with_javascript: JavaEngine, scripts: list[str], who: str) -> None:
    compare(java_with_javascript, scripts, ASKED[who])


@some
@given(st.lists(heaps, min_size=12, max_size=12))
def test_heaps_of_words_never_allow_more(java_with_javascript: JavaEngine, scripts: list[str]) -> None:
    compare(java_with_javascript, scripts, FULL)


COMMON = (
    "IS_IN_GROUP('g1')",
    "IS_IN_ROLE('ops') && USER.dept == 'eng'",
    "HAS_TAG('PII') && !IS_IN_GROUP('g9')",
    "UGNAMES.includes('g2') || URNAMES.includes('aux')",
    "TAGS.PII.level > 2",
    "USER.level >= TAGS.PII.level",
    "[[USER.list]].intersects(['b','c'])",
    "REQ.accessType == 'read' && RES.r1.startsWith('x')",
    "REQ.user != RES._ownerUser",
    "REQ.clientIPAddress.startsWith('10.')",
    "IS_ACCESS_TIME_BETWEEN('2023/01/01', '2024/01/01 12:30', 'Europe/Berlin')",
    "GET_UG_NAMES_Q().includes(\"'g1'\")",
    "USER.dept.toUpperCase() === 'ENG'",
    "UGA.mVal.site.indexOf('B') > -1",
    "if (USER.dept == 'eng') { ctx.setResult(true); } else { ctx.setResult(false); }",
    "UGNAMES.some(g => UG[g].site == 'B')",
    "['eng', 'hr'].includes(USER.dept)",
    "GET_USER_ATTR('nope', 'none') == 'none'",
)


@pytest.mark.parametrize("who", sorted(ASKED))
def test_common_scripts_are_evaluated(java_with_javascript: JavaEngine, who: str) -> None:
    known = compare(java_with_javascript, list(COMMON), ASKED[who])
    assert known == len(COMMON) if who == "all that a request can have" else known > len(COMMON) // 2
