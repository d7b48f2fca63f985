"""Small documents as Ranger Admin sends them, written anew."""

from __future__ import annotations

import json
from typing import Any

SERVICE = "cdapdev"

SERVICE_DEF: dict[str, Any] = {
    "name": "cdap",
    "resources": [
        {"name": "instance", "level": 10, "parent": "", "isValidLeaf": True, "matcherOptions": {"wildCard": "true"}},
        {
            "name": "namespace",
            "level": 20,
            "parent": "instance",
            "isValidLeaf": True,
            "matcherOptions": {"wildCard": "true"},
        },
    ],
    "accessTypes": [{"name": "read"}, {"name": "write"}],
}


def policy(policy_id: int, user: str = "alice", namespace: str = "ns1", **more: Any) -> dict[str, Any]:
    return {
        "id": policy_id,
        "guid": f"guid-{policy_id}",
        "name": f"policy {policy_id}",
        "service": SERVICE,
        "version": 1,
        "isEnabled": True,
        "resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": [namespace]}},
        "policyItems": [{"users": [user], "accesses": [{"type": "read", "isAllowed": True}]}],
    } | more


def policies(version: int = 1, *listed: dict[str, Any], service: str = SERVICE, tagged: bool = False) -> bytes:
    document: dict[str, Any] = {
        "serviceName": service,
        "serviceId": 1,
        "policyVersion": version,
        "policies": list(listed),
        "serviceDef": SERVICE_DEF,
        "auditMode": "audit-default",
    }
    if tagged:
        document["tagPolicies"] = {"serviceName": "tag", "policyVersion": 3, "policies": [], "serviceDef": TAG_DEF}
    return json.dumps(document).encode()


TAG_DEF: dict[str, Any] = {
    "name": "tag",
    "resources": [{"name": "tag", "level": 1, "parent": "", "matcherOptions": {"wildCard": "false"}}],
    "accessTypes": [{"name": "cdap:read"}, {"name": "cdap:write"}],
    "policyConditions": [],
}


def roles(version: int = 1, service: str = SERVICE, **members: list[str]) -> bytes:
    listed = [{"id": n, "name": r, "users": [{"name": u} for u in us]} for n, (r, us) in enumerate(members.items())]
    document = {"serviceName": service, "roleVersion": version, "rangerRoles": listed}
    return json.dumps(document if listed else {k: v for k, v in document.items() if k != "rangerRoles"}).encode()


def users(version: int = 1, **groups: list[str]) -> bytes:
    """The user store: each user's groups."""
    return json.dumps({"userStoreVersion": version, "userGroupMapping": groups}).encode()


def tags(version: int = 1, service: str = SERVICE, **more: Any) -> bytes:
    document = {"op": "add_or_update", "serviceName": service, "tagVersion": version, "isDelta": False}
    return json.dumps(document | more).encode()
