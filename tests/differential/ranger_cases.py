"""Ranger's own test cases (Apache License 2.0), read where they are at hand, as scenarios (policy-engine.md, 21).

Only allowed and audited are compared: Ranger asserts nothing else, and not every policy id in its files is right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

Json = dict[str, Any]

FOLDER = Path(__file__).parents[3] / "shared" / "reference" / "ranger" / "policyengine"
PREFIX = "test_policyengine_"

NEEDS: dict[str, str] = {
    "conditions": "its conditions are of a class that only Ranger's tests have",
    "policylevel_conditions": "its conditions are of a class that only Ranger's tests have",
    "descendant_tags": "its tags are in a file that only Ranger's tests have",
    "resource_access_info": "it asks an interface that is for Ranger's tests only",
}
"""Files that can't be run, and why."""

WITH_JAVASCRIPT = frozenset({"tag_hive"})
"""Files whose outcome needs a Java that can run JavaScript; this project reads the one script that matters."""

NOW = 1_700_000_000_000
"""The time of requests that have none; Java would take that of the call."""

DEFAULT_MATCHER = "org.apache.ranger.plugin.resourcematcher.RangerDefaultResourceMatcher"
NAME_LISTS = {
    "super.users": "superUsers",
    "super.groups": "superGroups",
    "audit.exclude.users": "auditExcludedUsers",
    "audit.exclude.groups": "auditExcludedGroups",
    "audit.exclude.roles": "auditExcludedRoles",
}
PROXIES = {
    "use.x-forwarded-for.ipaddress": "true",
    "trusted.proxy.ipaddresses": "255.255.255.255, 128.101.101.101, 128.101.101.99",
}
REBUILT_BY_RANGER = ("userRoles", "clientIPAddress", "resourceMatchingScope", "resourceElementMatchingScopes")
"""What Ranger's tests lose where they put tags into a request."""


@dataclass(frozen=True, slots=True)
class RangerCase:
    """A file of Ranger's: the scenario with its requests, and what is said about each of them."""

    name: str
    scenario: Json
    told: list[str]
    expected: list[Json]

    def __str__(self) -> str:
        return self.name

    def wrong(self, answers: list[Json]) -> list[tuple[str, Json, Json]]:
        """The requests that are answered otherwise."""
        return [
            (name, expected, answer)
            for name, expected, answer in zip(self.told, self.expected, answers, strict=True)
            if {key: answer[key] for key in expected} != expected
        ]

    def without_matchers(self) -> RangerCase:
        """The case without the resources that need a matcher for paths or URLs, and without what is about them.

        A request for everything is about them too: what they allow is some access somewhere.
        """
        download = self.scenario["policies"]
        definition = download["serviceDef"]
        known = [d for d in definition["resources"] if d.get("matcher", DEFAULT_MATCHER) == DEFAULT_MATCHER]
        gone = {d["name"] for d in definition["resources"]} - {d["name"] for d in known}
        kept = [n for n, asked in enumerate(self.scenario["requests"]) if gone.isdisjoint(asked["resource"] or gone)]
        policies = [policy for policy in download["policies"] if gone.isdisjoint(policy["resources"])]
        smaller = {**download, "serviceDef": {**definition, "resources": known}, "policies": policies}
        requests = [self.scenario["requests"][n] for n in kept]
        scenario = {**self.scenario, "policies": smaller, "requests": requests}
        return RangerCase(self.name, scenario, [self.told[n] for n in kept], [self.expected[n] for n in kept])


def ranger_cases() -> Iterator[RangerCase]:
    """Each file that can be run; one with deltas twice, before and after them."""
    for path in sorted(FOLDER.glob(f"{PREFIX}*.json")):
        name = path.stem.removeprefix(PREFIX)
        if name in NEEDS:
            continue
        document = lenient(path.read_text(encoding="utf-8"))
        loaded = scenario(document)
        yield case(name, loaded, document["tests"])
        if "updatedPolicies" in document:
            envelope = {key: loaded["policies"][key] for key in ("serviceName", "serviceDef")}
            deltas = {**envelope, "policyVersion": 101, **document["updatedPolicies"]}
            yield case(f"{name}, after its deltas", {**loaded, "deltas": deltas}, document["updatedTests"])


def case(name: str, loaded: Json, tests: list[Json]) -> RangerCase:
    return RangerCase(
        name,
        {**loaded, "requests": [request(test["request"]) for test in tests]},
        [test["name"] for test in tests],
        [expectation(test["result"]) for test in tests],
    )


def expectation(result: Json) -> Json:
    return {"allowed": result.get("isAllowed", False), "audited": result.get("isAudited", False)}


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
    conf = {prefix + key: ",".join(document[name]) for key, name in NAME_LISTS.items() if document.get(name)}
    conf |= {prefix + key: value for key, value in PROXIES.items()}
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
        given = {key: value for key, value in given.items() if key not in REBUILT_BY_RANGER}
    scope = given.get("resourceMatchingScope")
    asked = {
        "resource": given["resource"]["elements"],
        "resourceOwner": given["resource"].get("ownerUser"),
        "user": given.get("user"),
        "groups": given.get("userGroups"),
        "roles": given.get("userRoles"),
        "accessType": given.get("accessType"),
        "accessTime": access_time(given.get("accessTime")),
        "action": given.get("action"),
        "clientIP": given.get("clientIPAddress"),
        "remoteIP": given.get("remoteIPAddress"),
        "forwarded": given.get("forwardedAddresses"),
        "matchingScope": scope if scope in ("SELF", "SELF_OR_DESCENDANTS") else None,
        "elementScopes": given.get("resourceElementMatchingScopes"),
        "allAccessTypes": context.pop("ALLACCESSTYPES", None),
        "allAccessTypeGroups": groups,
        "context": context,
        "tags": json.loads(tags) if tags else None,
    }
    return {key: value for key, value in asked.items() if value is not None}


def access_time(text: str | None) -> int:
    if text is None:
        return NOW
    moment = datetime.strptime(re.sub(r"-([-+]\d{4})$", r"\1", text), "%Y%m%d-%H:%M:%S.%f%z")
    return int(moment.timestamp() * 1000)
