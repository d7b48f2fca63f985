"""The harness itself is right: Ranger's own cases, where that folder is there, come out as Ranger says they do."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from java_engine import HarnessError, JavaEngine

Json = dict[str, Any]

PEER = Path(__file__).parents[3] / "shared" / "reference" / "ranger" / "policyengine"
FILES = sorted(PEER.glob("test_policyengine_*.json"))
REBUILT_BY_THE_PEER = ("userRoles", "clientIPAddress", "resourceMatchingScope", "resourceElementMatchingScopes")

pytestmark = pytest.mark.java


def lenient(text: str) -> Json:
    document: Json = json.loads(re.sub(r",(\s*[}\]])", r"\1", text))
    return document


def scenario(document: Json) -> Json:
    policies = {
        "serviceName": document["serviceName"],
        "policyVersion": 100,
        "serviceDef": document["serviceDef"],
        "policies": document["policies"],
        "auditMode": document.get("auditMode", "audit-default"),
        "serviceConfig": document.get("serviceConfig", {}),
        "securityZones": document.get("securityZones", {}),
    }
    if tag_info := document.get("tagPolicyInfo"):
        tag_policies = {**tag_info, "policies": tag_info["tagPolicies"], "policyVersion": 100}
        policies["tagPolicies"] = tag_policies
    prefix = f"ranger.plugin.{document['serviceDef']['name']}."
    lists = {
        "super.users": "superUsers",
        "super.groups": "superGroups",
        "audit.exclude.users": "auditExcludedUsers",
        "audit.exclude.groups": "auditExcludedGroups",
        "audit.exclude.roles": "auditExcludedRoles",
    }
    conf = {prefix + key: ",".join(document[name]) for key, name in lists.items() if document.get(name)}
    return {"policies": policies, "roles": {"roleVersion": 1, "rangerRoles": roles(document)}, "conf": conf}


def roles(document: Json) -> list[Json]:
    members = [("userRoles", "users"), ("groupRoles", "groups"), ("roleRoles", "roles")]
    return [
        {"name": role, kind: [{"name": member}]}
        for key, kind in members
        for member, containing in (document.get(key) or {}).items()
        for role in containing
    ]


def request(given: Json) -> Json:
    context = dict(given.get("context") or {})
    tags, groups = context.pop("TAGS", None), context.pop("ALLACCESSTYPEGROUPS", None)
    if tags is not None:
        given = {key: value for key, value in given.items() if key not in REBUILT_BY_THE_PEER}
    scope = given.get("resourceMatchingScope")
    return {
        "resource": given["resource"]["elements"],
        "resourceOwner": given["resource"].get("ownerUser"),
        "user": given.get("user"),
        "groups": given.get("userGroups"),
        "roles": given.get("userRoles"),
        "accessType": given.get("accessType"),
        "accessTime": access_time(given.get("accessTime")),
        "action": given.get("action"),
        "clientIP": given.get("clientIPAddress"),
        "matchingScope": scope if scope in ("SELF", "SELF_OR_DESCENDANTS") else None,
        "elementScopes": given.get("resourceElementMatchingScopes"),
        "allAccessTypes": context.pop("ALLACCESSTYPES", None),
        "allAccessTypeGroups": groups,
        "context": context,
        "tags": json.loads(tags) if tags else None,
    }


def access_time(text: str | None) -> int | None:
    if text is None:
        return None
    moment = datetime.strptime(re.sub(r"-([-+]\d{4})$", r"\1", text), "%Y%m%d-%H:%M:%S.%f%z")
    return int(moment.timestamp() * 1000)


@pytest.mark.skipif(not FILES, reason="Ranger's own test cases are not here")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem.removeprefix("test_policyengine_"))
def test_the_harness_answers_rangers_own_cases_as_they_say(java: JavaEngine, path: Path) -> None:
    document = lenient(path.read_text(encoding="utf-8"))
    if '"type": "country"' in json.dumps(document["policies"]):
        pytest.skip("needs a condition class that only Ranger's tests have")
    if "serviceTagsFileName" in json.dumps(document.get("tagPolicyInfo")):
        pytest.skip("needs a file of tags that only Ranger's tests have")
    java.load(scenario(document))
    check(java, document["tests"])
    if "updatedPolicies" in document:
        updated = {"serviceName": document["serviceName"], "policyVersion": 101, "serviceDef": document["serviceDef"]}
        java.apply_deltas({**updated, **document["updatedPolicies"]})
        check(java, document["updatedTests"])


def check(java: JavaEngine, tests: list[Json]) -> None:
    asked = [test for test in tests if "result" in test and "EXPIRES_ON" not in test["name"]]  # that one is a script
    answers = java.evaluate(request(test["request"]) for test in asked)
    wrong = [
        (test["name"], test["result"], answer)
        for test, answer in zip(asked, answers, strict=True)
        if answer.get("allowed") != test["result"].get("isAllowed", False)
        or answer.get("audited") != test["result"].get("isAudited", False)
    ]
    assert wrong == []


def test_a_command_that_fails_says_so(java: JavaEngine) -> None:
    with pytest.raises(HarnessError, match="no engine is loaded as nobody"):
        java.evaluate([], name="nobody")
    with pytest.raises(HarnessError):
        java.load({"policies": {"serviceDef": {"resources": 1}}}, name="broken")
