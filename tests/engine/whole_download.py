"""A download with a bit of everything, and what can be asked of it: what tests of bad input spoil part by part."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ranger_cdap.engine import AccessRequest, EngineOptions, PolicyEngine
from ranger_cdap.engine.model.request import MatchingScope
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies, decode_service_tags
from tests.engine.fixtures import CONDITIONS, SAFE, SHOP, TAG_ENRICHERS, item, on, policy

Json = dict[str, Any]
Place = tuple[str | int, ...]

NOW = 1_700_000_000_000
AT_HOME = [{"type": "ip", "values": ["10.0.0.1", "10.1.*"]}]
LASTING = [
    {
        "startTime": "2020/01/01 00:00:00",
        "endTime": "2030/01/01 00:00:00",
        "timeZone": "UTC",
        "recurrences": [
            {
                "schedule": {
                    "minute": "0",
                    "hour": "0-23",
                    "dayOfMonth": "*",
                    "dayOfWeek": "*",
                    "month": "*",
                    "year": "*",
                },
                "interval": {"days": 0, "hours": 0, "minutes": 59},
            }
        ],
    }
]
RICH = policy(
    1,
    on(hall="h", shelf=["s", "t*"]),
    [item("alice @staff", "read", "write"), item("%lead", "own", conditions=AT_HOME)],
    [item("bob", "write")],
    denyExceptions=[item("@staff", "write", conditions=AT_HOME)],
    allowExceptions=[item("carol", "write")],
    conditions=AT_HOME,
    validitySchedules=LASTING,
    additionalResources=[on(hall="g", shelf="*")],
    policyPriority=1,
    isAuditEnabled=True,
    isEnabled=True,
    isDenyAllElse=False,
)
COMMON_OPTIONS = policy(2, on(hall="*", shelf="*"), [item("@public", "read", "write", "own", delegateAdmin=True)])
PLAIN: Json = {"isEnabled": True, "isAuditEnabled": True, "policyPriority": 0, "policyType": 0}
STRICT = policy(3, on(hall="h"), [item("@public", "read")], [item("alice %boss", "own")], **PLAIN, isDenyAllElse=True)
GLOB = policy(4, on(hall="h", shelf="no*"), [], [item("@public", "read")], **PLAIN)

DEFINITION: Json = {
    **SHOP,
    "options": {"enableDenyAndExceptionsInPolicies": "true"},
    "resources": [
        {**level, "matcherOptions": {"ignoreCase": "true", "wildCard": "true", "replaceTokens": "true"}}
        for level in SHOP["resources"]
    ],
}
TAG_DEFINITION: Json = {
    "name": "tag",
    "resources": [{"name": "tag", "matcherOptions": {"wildCard": "true"}}],
    "accessTypes": [{"name": "shop:read"}, {"name": "shop:own", "impliedGrants": ["shop:read"]}],
    "policyConditions": [{"name": "ip", "evaluator": CONDITIONS + "RangerIpMatcher"}],
    "contextEnrichers": TAG_ENRICHERS,
}
TAG_POLICIES = [
    policy(21, {"tag": {"values": ["SECRET"]}}, [], [item("@public", "shop:own", conditions=AT_HOME)], **PLAIN),
    policy(22, {"tag": {"values": ["OPEN*"]}}, [item("@public", "shop:read")]),
    policy(23, {"tag": {"values": ["ZONED"]}}, [], [item("@public", "shop:read")], zoneName="east"),
]
ZONES: Json = {
    "east": {
        "zoneName": "east",
        "resources": [{"hall": ["e"], "shelf": ["*"]}, {"hall": ["f*"], "shelf": ["s"]}],
        "policies": [policy(11, on(hall="*", shelf="*"), [item("bob", "read")], [item("carol", "read")])],
        "containsAssociatedTagService": True,
    },
    "west": {"resources": [{"hall": ["w"]}], "policies": [policy(12, on(hall="w"), [item("bob", "read")])]},
}
TAGS: Json = {
    "serviceName": "shop1",
    "op": "add_or_update",
    "isDelta": False,
    "tags": {
        "1": {"type": "SECRET", "validityPeriods": LASTING},
        "2": {"type": "OPENED", "validityPeriods": [{"endTime": "2001/01/01 00:00:00"}]},
        "3": {"type": "ZONED"},
    },
    "serviceResources": [
        {"id": 7, "resourceElements": on(hall="k", shelf="s")},
        {"id": 8, "resourceElements": on(hall="c")},
        {"id": 9, "resourceElements": on(hall="e", shelf="z")},
    ],
    "resourceToTagIds": {"7": [1, 2], "8": [2], "9": [3]},
}
ROLES: Json = {
    "serviceName": "shop1",
    "rangerRoles": [
        {"id": 1, "name": "lead", "users": [{"name": "carol"}], "groups": [], "roles": [{"name": "boss"}]},
        {"id": 2, "name": "boss", "users": [{"name": "dave"}], "groups": [{"name": "owners"}], "roles": []},
    ],
}
WHOLE: Json = {
    "policies": {
        "serviceName": "shop1",
        "policyVersion": 1,
        "serviceDef": DEFINITION,
        "policies": [RICH, COMMON_OPTIONS, STRICT, GLOB],
        "securityZones": ZONES,
        "tagPolicies": {"serviceName": "tags", "serviceDef": TAG_DEFINITION, "policies": TAG_POLICIES},
        "serviceConfig": {"ranger.plugin.super.users": "root, admin", "ranger.plugin.audit.exclude.users": "x"},
        "auditMode": "audit-default",
    },
    "roles": ROLES,
    "tags": TAGS,
}

WHERE: list[Json] = [
    {"hall": "h"},
    {"hall": "h", "shelf": "s"},
    {"hall": "h", "shelf": "tt"},
    {"hall": "h", "shelf": "nono"},
    {"hall": "g", "shelf": "x"},
    {"hall": "k", "shelf": "s"},
    {"hall": "c"},
    {"hall": "e", "shelf": "x"},
    {"hall": "e", "shelf": "z"},
    {"hall": "fff", "shelf": "s"},
    {"hall": "w", "shelf": "x"},
    {"hall": "elsewhere", "shelf": "s", "box": "b"},
]
PEOPLE = [
    ("alice", (), "10.0.0.1"),
    ("bob", ("staff",), "10.9.9.9"),
    ("carol", (), "10.0.0.1"),
    ("dave", (), "10.1.2.3"),
]
ACCESSES = [("read", MatchingScope.SELF), ("own", MatchingScope.SELF), ("_any", MatchingScope.SELF)]
ACCESSES += [("_admin", MatchingScope.SELF), ("write", MatchingScope.SELF_OR_DESCENDANTS)]
REQUESTS = [
    AccessRequest(where, access, user, groups=frozenset(groups), access_time=NOW, client_ip=ip, matching_scope=scope)
    for where in WHERE
    for user, groups, ip in PEOPLE
    for access, scope in ACCESSES
]


def build(whole: Mapping[str, Any], options: EngineOptions = SAFE) -> PolicyEngine:
    """An engine of a download; PolicySetError where it is refused."""
    return PolicyEngine.build(
        decode_service_policies(json.dumps(whole["policies"]).encode()),
        roles=decode_roles(json.dumps(whole["roles"]).encode()),
        tags=decode_service_tags(json.dumps(whole["tags"]).encode()),
        options=options,
    )


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    """The paths of all parts of a document."""
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in parts:
        yield from places(inner, (*path, key))


def part(whole: Any, place: Place) -> Any:
    for step in place:
        whole = whole[step]
    return whole


def spoiled(whole: Any, place: Place, garbage: Any) -> Any:
    """The document with another value at a place; all else is shared."""
    if not place:
        return garbage
    step, *rest = place
    copy = dict(whole) if isinstance(whole, dict) else list(whole)
    copy[step] = spoiled(whole[step], tuple(rest), garbage)
    return copy
