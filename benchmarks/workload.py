"""Policies and requests to measure with: N policies over N/40 namespaces; the same ones in every run."""

from __future__ import annotations

import random
import uuid

import msgspec

import servicedef

ENTITY_LEVELS = ("dataset", "application", "artifact", "secure_key", "dataset_type")
ACCESS_TYPES = ("read", "write", "admin", "execute")
POLICIES_PER_NAMESPACE = 40
USERS = 400
GROUPS = 60


def service_policies(count: int, *, seed: int = 7) -> bytes:
    """A policy download of `count` policies, as JSON, with the fields a real Ranger Admin sends."""
    draw = random.Random(seed)
    policies = [_policy(n, count, draw) for n in range(1, count + 1)]
    return msgspec.json.encode(
        {
            "serviceName": "cdapdev",
            "serviceId": 1,
            "policyVersion": count,
            "policies": policies,
            "serviceDef": servicedef.service_definition(),
            "auditMode": "audit-default",
        }
    )


def requests(count: int, policies: int, *, seed: int = 11) -> bytes:
    """Questions as JSON lines: mostly on what policies name, some on what no policy names."""
    draw = random.Random(seed)
    lines = []
    for _ in range(count):
        n = draw.randrange(1, policies + 1)
        resource = _resource(n, policies)
        if draw.random() < 0.2:
            resource[next(reversed(resource))] = f"other-{draw.randrange(10**6)}"
        asked = {"resource": resource, "access": draw.choice(ACCESS_TYPES)}
        if draw.random() < 0.65:
            asked |= {"user": _user(n, draw.randrange(3)), "groups": [f"g{draw.randrange(GROUPS)}"]}
        else:
            asked |= {"user": f"user{draw.randrange(USERS)}", "groups": [_group(n)]}
        lines.append(msgspec.json.encode(asked))
    return b"\n".join(lines)


def changed_policy(number: int, total: int, version: int) -> bytes:
    """The policy of that number with another user in it, as a delta would carry it."""
    policy = _policy(number, total, random.Random(version))
    policy["version"] = version
    policy["policyItems"][0]["users"].append(f"newcomer{version}")
    return msgspec.json.encode(policy)


def _policy(n: int, total: int, draw: random.Random) -> dict[str, object]:
    resources = {level: {"values": [value]} for level, value in _resource(n, total).items()}
    leaf = next(reversed(resources))
    kind = draw.random()
    if kind < 0.08:
        resources[leaf]["values"] = [f"{resources[leaf]['values'][0][:4]}*"]
    elif kind < 0.1:
        resources[leaf]["values"] = ["*"]
    accesses = draw.sample(ACCESS_TYPES, draw.randint(1, 4))
    deny = [_item(["write"], [f"user{draw.randrange(USERS)}"], [])] if draw.random() < 0.05 else []
    return {
        "id": n,
        "guid": str(uuid.UUID(int=n)),
        "isEnabled": True,
        "version": 1,
        "service": "cdapdev",
        "name": f"policy {n}",
        "policyType": 0,
        "policyPriority": 0,
        "description": f"Policy {n} of the benchmark",
        "isAuditEnabled": True,
        "resources": {k: {**v, "isExcludes": False, "isRecursive": False} for k, v in resources.items()},
        "policyItems": [_item(accesses, [_user(n, i) for i in range(3)], [_group(n)])],
        "denyPolicyItems": deny,
        "allowExceptions": [],
        "denyExceptions": [],
        "serviceType": "cdap",
        "options": {},
        "validitySchedules": [],
        "policyLabels": [],
        "isDenyAllElse": False,
    }


def _item(accesses: list[str], users: list[str], groups: list[str]) -> dict[str, object]:
    return {
        "accesses": [{"type": access, "isAllowed": True} for access in accesses],
        "users": users,
        "groups": groups,
        "roles": [],
        "conditions": [],
        "delegateAdmin": False,
    }


def _resource(n: int, total: int) -> dict[str, str]:
    namespaces = max(1, total // POLICIES_PER_NAMESPACE)
    level = ENTITY_LEVELS[n % len(ENTITY_LEVELS)]
    return {"instance": "cdap", "namespace": f"ns{n % namespaces}", level: f"{level}{n}"}


def _user(n: int, i: int) -> str:
    return f"user{(n * 7 + i * 131) % USERS}"


def _group(n: int) -> str:
    return f"g{n % GROUPS}"
