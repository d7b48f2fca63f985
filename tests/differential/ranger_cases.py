"""Ranger's own test cases of its policy engine, as scenarios; Ranger's files stay where they are (`ranger_source.py`).

Only allowed and audited are compared: Ranger asserts nothing else, and not every policy id in its files is right. Which
files and requests are left out, and why, is data: `ranger_cases_left_out.toml`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ranger_cdap.engine.compiled.conditions import ConditionContext
from ranger_cdap.engine.compiled.wildcard import matches, normalise
from tests.ranger_source import ranger_file, ranger_files, read_ranger_file

Json = dict[str, Any]

FOLDER = "policyengine"
PREFIX = f"{FOLDER}/test_policyengine_"

LEFT_OUT: Json = tomllib.loads(Path(__file__).with_name("ranger_cases_left_out.toml").read_text(encoding="utf-8"))
"""Files and requests that are not asked, each with the reason."""

NOW = 1_700_000_000_000
"""The time of requests that have none; Java would take that of the call."""

NAME_LISTS = {
    "super.users": "superUsers",
    "super.groups": "superGroups",
    "audit.exclude.users": "auditExcludedUsers",
    "audit.exclude.groups": "auditExcludedGroups",
    "audit.exclude.roles": "auditExcludedRoles",
}
SIMPLE_MATCHER = "org.apache.ranger.plugin.conditionevaluator.RangerSimpleMatcher"
PROXIES = {
    "use.x-forwarded-for.ipaddress": "true",
    "trusted.proxy.ipaddresses": "255.255.255.255, 128.101.101.101, 128.101.101.99",
}
REBUILT_BY_RANGER = (
    "userRoles",
    "clientIPAddress",
    "resourceMatchingScope",
    "resourceElementMatchingScopes",
    "isDescendantDenyIgnored",
)
"""What Ranger's tests lose where they put tags into a request."""


@dataclass(frozen=True, slots=True)
class RangerCase:
    """A file of Ranger's: the scenario with its requests, and what is expected of each of them."""

    name: str
    scenario: Json
    titles: list[str]
    expected: list[Json]

    def __str__(self) -> str:
        return self.name

    @property
    def file(self) -> str:
        """The file's name without what is the same for all; a file with deltas makes two cases."""
        return self.name.partition(",")[0]

    def wrong(self, answers: list[Json]) -> list[tuple[str, Json, Json]]:
        """The requests that are answered differently."""
        return [
            (name, expected, answer)
            for name, expected, answer in zip(self.titles, self.expected, answers, strict=True)
            if {key: answer[key] for key in expected} != expected
        ]

    def without(self, names: Collection[str]) -> RangerCase:
        """The case without the requests of these names."""
        return self._with_requests([n for n, name in enumerate(self.titles) if name not in names])

    def _with_requests(self, kept: list[int]) -> RangerCase:
        return replace(
            self,
            scenario={**self.scenario, "requests": [self.scenario["requests"][n] for n in kept]},
            titles=[self.titles[n] for n in kept],
            expected=[self.expected[n] for n in kept],
        )


def ranger_cases() -> Iterator[RangerCase]:
    """Each available file that expects decisions; one with deltas twice, before and after them."""
    for file in ranger_files(FOLDER, "test_policyengine_"):
        if Path(file).name not in LEFT_OUT["files"]:
            document = read_ranger_file(file)
            if (tagged := tag_file(document)) is None or ranger_file(tagged):
                yield from cases_of(file.removeprefix(PREFIX).removesuffix(".json"), document)


def cases_of(name: str, document: Json) -> Iterator[RangerCase]:
    loaded = scenario(document)
    yield case(name, loaded, document["tests"])
    if "updatedPolicies" in document:
        envelope = {key: loaded["policies"][key] for key in ("serviceName", "serviceDef")}
        deltas = {**envelope, "policyVersion": 101, **document["updatedPolicies"]}
        yield case(f"{name}, after its deltas", {**loaded, "deltas": [deltas]}, document["updatedTests"])


def case(name: str, loaded: Json, tests: list[Json]) -> RangerCase:
    decided = [test for test in tests if "result" in test]  # others expect data masks, row filters or access lists
    return RangerCase(
        name,
        {**loaded, "requests": [request(test["request"]) for test in decided]},
        [test["name"] for test in decided],
        [expectation(test["result"]) for test in decided],
    )


def expectation(result: Json) -> Json:
    return {"allowed": result.get("isAllowed", False), "audited": result.get("isAudited", False)}


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
        audit_mode = policies["auditMode"]
        policies["tagPolicies"] = {
            **tag_info,
            "policies": tag_info["tagPolicies"],
            "policyVersion": 100,
            "auditMode": audit_mode,
        }
    prefix = f"ranger.plugin.{document['serviceDef']['name']}."
    conf = {prefix + key: ",".join(document[name]) for key, name in NAME_LISTS.items() if document.get(name)}
    if any("forwardedAddresses" in test["request"] for test in document["tests"]):
        conf |= {prefix + key: value for key, value in PROXIES.items()}
    loaded = {"policies": policies, "roles": {"roleVersion": 1, "rangerRoles": roles(document)}, "conf": conf}
    return {**loaded, "tags": read_ranger_file(file)} if (file := tag_file(document)) else loaded


def tag_file(document: Json) -> str | None:
    """The file that an enricher of the tag service takes tags from."""
    for enricher in (document.get("tagPolicyInfo") or {}).get("serviceDef", {}).get("contextEnrichers") or ():
        if name := (enricher.get("enricherOptions") or {}).get("serviceTagsFileName"):
            return str(name).lstrip("/")
    return None


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
        "ignoreDescendantDeny": given.get("isDescendantDenyIgnored"),
        "allAccessTypes": context.pop("ALLACCESSTYPES", None),
        "allAccessTypeGroups": groups,
        "context": context,
        "tags": json.loads(strict(tags)) if tags else None,
    }
    return {key: value for key, value in asked.items() if value is not None}


def strict(text: str) -> str:
    """The JSON of a text that has single quotes instead of double ones."""
    return text if '"' in text else text.replace("'", '"')


def simple_matcher(
    values: Sequence[str], options: Mapping[str, Any]
) -> Callable[[ConditionContext], bool | None] | None:
    """The condition that Ranger's tests bring along: a value of the context matches one of the condition's values."""
    name = options.get("CONTEXT_NAME")
    patterns = [normalise(value) for value in values]

    def holds(circumstances: ConditionContext) -> bool:
        value = circumstances.context.get(str(name), "")
        return not (patterns and name) or (bool(value.strip()) and any(matches(one, value) for one in patterns))

    return holds


def access_time(text: str | None) -> int:
    if text is None:
        return NOW
    moment = datetime.strptime(re.sub(r"-([-+]\d{4})$", r"\1", text), "%Y%m%d-%H:%M:%S.%f%z")
    return int(moment.timestamp() * 1000)
