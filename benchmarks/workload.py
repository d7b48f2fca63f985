"""Policies and requests for benchmarks; the same ones in every run.

Of 100 policies 85 name exact resources (5 of those also deny or except somebody), 10 end in a wildcard and 5 more are
exact with a role; 5 are on namespaces, 20 on applications, 35 on programs, 25 on datasets, 15 on artifacts. Half of the
requests are for an access that a policy allows, the others are random.
"""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass

import msgspec

import servicedef

SERVICE = "cdapdev"
ACCESS_TYPES = ("read", "write", "admin", "execute")
LEVELS = ("namespace",) * 5 + ("application",) * 20 + ("program",) * 35 + ("dataset",) * 25 + ("artifact",) * 15
ENTITY_LEVELS = ("dataset", "application", "artifact")
POLICIES_PER_NAMESPACE, MOST_NAMESPACES = 40, 2_000
USERS, GROUPS, ROLES = 1_000, 200, 50
WILDCARDS, DENIALS = 0.10, 0.05
NOW = 1_700_000_000_000
TAGS = ("PII", "SECRET", "PUBLIC")
_IP_RANGE = "org.apache.ranger.plugin.conditionevaluator.RangerIpMatcher"
_ENRICHER = "org.apache.ranger.plugin.contextenricher.RangerTagEnricher"

NO_ROLES = msgspec.json.encode({"serviceName": SERVICE, "roleVersion": 1, "rangerRoles": []})
"""A download of roles where there are none."""

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Features:
    """Features beside plain policies; one policy in ten has conditions, one resource in ten has tags."""

    conditions: bool = False
    zones: bool = False
    tags: bool = False


PLAIN = Features()


def service_policies(count: int, *, seed: int = 7, features: Features = PLAIN) -> bytes:
    """Return a policy download of `count` policies, as JSON, with the fields a real Ranger Admin sends."""
    draw = random.Random(seed)
    drawn = (_policy(n, count, draw, features) for n in range(1, count + 1))
    # A million policies as objects would not fit into memory; zones have copies of some of them.
    policies = list(drawn) if features.zones else [msgspec.Raw(msgspec.json.encode(policy)) for policy in drawn]
    definition = _definition(features)
    download: Json = {
        "serviceName": SERVICE,
        "serviceId": 1,
        "policyVersion": count,
        "policies": policies,
        "serviceDef": definition,
        "auditMode": "audit-default",
    }
    if features.zones:
        download["securityZones"] = _zones(policies, count)  # type: ignore[arg-type]
    if features.tags:
        download["tagPolicies"] = _tag_policies(definition)
    return msgspec.json.encode(download)


def roles() -> bytes:
    """Return a role download: each role has two groups and two users."""
    found = [
        {
            "id": n + 1,
            "name": f"role{n}",
            "users": [{"name": f"user{n}"}, {"name": f"user{n + 500}"}],
            "groups": [{"name": f"group{n}"}, {"name": f"group{n + 100}"}],
            "roles": [],
        }
        for n in range(ROLES)
    ]
    return msgspec.json.encode({"serviceName": SERVICE, "roleVersion": 1, "rangerRoles": found})


def service_tags(count: int) -> bytes:
    """Return a tag download: one resource in ten has a tag."""
    numbers = range(1, count + 1, 10)
    resources = [
        {"id": n, "resourceElements": {k: {"values": [v]} for k, v in resource_of(n, count).items()}} for n in numbers
    ]
    tags = {str(n): {"id": n, "type": tag, "attributes": {}} for n, tag in enumerate(TAGS, start=1)}
    carries = {str(n): [1 + n // 10 % len(TAGS)] for n in numbers}
    return msgspec.json.encode(
        {
            "op": "add_or_update",
            "serviceName": SERVICE,
            "tagVersion": 1,
            "tags": tags,
            "serviceResources": resources,
            "resourceToTagIds": carries,
        }
    )


def requests(count: int, policies: int, *, seed: int = 11, kind: str = "plain") -> bytes:
    """Return requests as JSON lines; `kind`: `any` (any access), `below` (with descendants), `from` (an address)."""
    draw = random.Random(seed)
    return b"\n".join(msgspec.json.encode(_asked(draw, policies, kind)) for _ in range(count))


def distinct_requests(count: int, policies: int, *, seed: int) -> bytes:
    """Return plain requests as `requests` does, each for another resource: a name that was asked gets a number."""
    draw, asked = random.Random(seed), set[tuple[object, ...]]()
    lines = []
    for n in range(count):
        request = _asked(draw, policies, "plain")
        resource = request["resource"]
        assert isinstance(resource, dict)
        if tuple(resource.values()) in asked:
            resource[next(reversed(resource))] += f"x{n}"
        asked.add(tuple(resource.values()))
        lines.append(msgspec.json.encode(request))
    return b"\n".join(lines)


def _asked(draw: random.Random, policies: int, kind: str) -> Json:
    n = draw.randrange(1, policies + 1)
    resource = resource_of(n, policies)
    given = draw.random() < 0.5
    user = draw.choice(users_of(n)) if given else draw.randrange(USERS)
    access = draw.choice(accesses_of(n)) if given else draw.choice(ACCESS_TYPES)
    if not given and draw.random() < 0.2:
        level, name = next(reversed(resource)), f"other{draw.randrange(10**6)}"
        resource[level] = f"service.{name}" if level == "program" else name
    asked: Json = {"resource": resource, "access": access, "user": f"user{user}", "groups": groups_of(user)}
    if kind == "any":
        asked["access"] = "_any"
    if kind == "below":
        asked["scope"] = "SELF_OR_DESCENDANTS"
    if kind == "from":
        asked["ip"] = f"10.1.{draw.randrange(4)}.{draw.randrange(256)}"
    return asked


def resource_of(n: int, total: int) -> dict[str, str]:
    """Return the resource of policy `n`; a policy with a wildcard covers it."""
    level, namespace = LEVELS[n * 37 % 100], f"ns{n % namespaces(total)}"
    resource = {"instance": "cdap", "namespace": namespace}
    if level == "program":
        resource["application"] = f"application{n - n % 7}"
    if level != "namespace":
        resource[level] = f"service.program{n}" if level == "program" else f"{level}{n}"
    return resource


def namespaces(total: int) -> int:
    """Return the number of namespaces for a number of policies."""
    return min(MOST_NAMESPACES, max(1, total // POLICIES_PER_NAMESPACE))


def users_of(n: int) -> list[int]:
    """Return the users that policy `n` names."""
    return [(n * 7 + i * 131) % USERS for i in range(3)]


def accesses_of(n: int) -> list[str]:
    """Return the access types that policy `n` allows."""
    return list(ACCESS_TYPES[: 1 + n * 13 % 4])


def groups_of(user: int) -> list[str]:
    """Return the groups of a user."""
    return [f"group{user % GROUPS}", f"group{user * 3 % GROUPS}"]


def changed_policy(number: int, total: int, version: int) -> bytes:
    """Return policy `n` with another user in it, as in a delta."""
    policy = _policy(number, total, random.Random(version), PLAIN)
    policy["version"] = version
    policy["policyItems"][0]["users"].append(f"newcomer{version}")  # type: ignore[index]
    return msgspec.json.encode(policy)


def _policy(n: int, total: int, draw: random.Random, features: Features) -> Json:
    resource = {level: [value] for level, value in resource_of(n, total).items()}
    leaf = next(reversed(resource))
    kind = draw.random()
    if kind < WILDCARDS and leaf != "namespace":
        resource[leaf] = [resource[leaf][0][:-1] + "*"]
    denies = WILDCARDS <= kind < WILDCARDS + DENIALS
    role = [f"role{n % ROLES}"] if kind >= 1 - DENIALS else []
    allow = _item(accesses_of(n), [f"user{u}" for u in users_of(n)], [f"group{n % GROUPS}"], role)
    if features.conditions and n % 10 == 0:
        allow["conditions"] = [{"type": "ip-range", "values": [f"10.1.{n % 4}.*"]}]
    return {
        "id": n,
        "guid": str(uuid.UUID(int=n)),
        "isEnabled": True,
        "version": 1,
        "service": SERVICE,
        "name": f"policy {n}",
        "policyType": 0,
        "policyPriority": 0,
        "description": f"Policy {n} of the benchmark",
        "isAuditEnabled": True,
        "resources": {k: {"values": v, "isExcludes": False, "isRecursive": False} for k, v in resource.items()},
        "policyItems": [allow],
        "denyPolicyItems": [_item(["write"], [f"user{draw.randrange(USERS)}"], [])] if denies and n % 2 else [],
        "allowExceptions": [_item(["read"], [f"user{users_of(n)[0]}"], [])] if denies and not n % 2 else [],
        "denyExceptions": [],
        "serviceType": "cdap",
        "options": {},
        "validitySchedules": [],
        "policyLabels": [],
        "isDenyAllElse": False,
    }


def _item(accesses: list[str], users: list[str], groups: list[str], roles: list[str] | None = None) -> Json:
    return {
        "accesses": [{"type": access, "isAllowed": True} for access in accesses],
        "users": users,
        "groups": groups,
        "roles": roles or [],
        "conditions": [],
        "delegateAdmin": False,
    }


def _definition(features: Features) -> Json:
    definition: Json = dict(servicedef.service_definition())
    if features.conditions:
        definition["policyConditions"] = [{"itemId": 1, "name": "ip-range", "evaluator": _IP_RANGE}]
    return definition


def _zones(policies: list[Json], total: int) -> Json:
    """Return four zones with a tenth of the namespaces; each has a copy of the policies there."""
    each = max(1, namespaces(total) // 40)
    zones: Json = {}
    for zone in range(4):
        names = {f"ns{n}" for n in range(zone * each, (zone + 1) * each)}
        first = total * (zone + 1)
        inside = [
            {**p, "id": first + int(str(p["id"])), "zoneName": f"zone{zone}"}
            for p in policies
            if _namespace(p) in names
        ]
        resources = [{"instance": ["cdap"], "namespace": sorted(names)}]
        zones[f"zone{zone}"] = {
            "zoneName": f"zone{zone}",
            "resources": resources,
            "policies": inside,
            "containsAssociatedTagService": False,
        }
    return zones


def _namespace(policy: Json) -> str:
    resources = policy["resources"]
    assert isinstance(resources, dict)
    return str(resources["namespace"]["values"][0])


def _tag_policies(component: Json) -> Json:
    accesses = [{"itemId": n, "name": f"cdap:{name}", "impliedGrants": []} for n, name in enumerate(ACCESS_TYPES, 1)]
    level = {"itemId": 1, "name": "tag", "level": 1, "parent": "", "isValidLeaf": True}
    definition = {
        "id": 100,
        "name": "tag",
        "resources": [{**level, "matcherOptions": {"wildCard": "true", "ignoreCase": "false"}}],
        "accessTypes": accesses,
        "contextEnrichers": [{"itemId": 1, "name": "tags", "enricher": _ENRICHER}],
        "policyConditions": component.get("policyConditions", []),
    }
    policies = []
    for n, tag in enumerate(TAGS, start=1):
        items = [_item([f"cdap:{a}" for a in ACCESS_TYPES[:n]], [f"user{u}" for u in range(n, USERS, 10)], [])]
        name = "denyPolicyItems" if tag == "SECRET" else "policyItems"
        policies.append(
            {
                "id": 10_000_000 + n,
                "version": 1,
                "isEnabled": True,
                "isAuditEnabled": True,
                "policyType": 0,
                "service": "tags",
                "serviceType": "tag",
                "name": f"tag policy {tag}",
                "resources": {"tag": {"values": [tag]}},
                name: items,
            }
        )
    return {"serviceName": "tags", "policyVersion": 1, "policies": policies, "serviceDef": definition}
