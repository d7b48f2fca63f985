"""Small policies for the engine's tests, in few words, over a service definition of our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ranger_cdap.engine import AccessRequest, EngineOptions, PolicyEngine
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies, decode_service_tags
from ranger_cdap.ranger_model.tag import ServiceTags

Json = dict[str, Any]

RANGER = EngineOptions(compatibility="ranger")
SAFE = EngineOptions()

CONDITIONS = "org.apache.ranger.plugin.conditionevaluator."

EXACT = {"ignoreCase": "false"}
SHOP: Json = {
    "name": "shop",
    "resources": [
        {"name": "hall", "level": 10, "isValidLeaf": True, "matcherOptions": {"ignoreCase": "false"}},
        {
            "name": "shelf",
            "parent": "hall",
            "level": 20,
            "isValidLeaf": True,
            "matcherOptions": {"ignoreCase": "false"},
        },
        {"name": "box", "parent": "shelf", "level": 30, "matcherOptions": {"ignoreCase": "false"}},
        {"name": "till", "parent": "hall", "level": 20, "matcherOptions": {"ignoreCase": "true"}},
    ],
    "accessTypes": [
        {"name": "read"},
        {"name": "write", "impliedGrants": ["read"]},
        {"name": "own", "impliedGrants": ["read", "write"]},
    ],
    "policyConditions": [
        {"name": "ip", "evaluator": CONDITIONS + "RangerIpMatcher"},
        {"name": "script", "evaluator": CONDITIONS + "RangerScriptConditionEvaluator"},
    ],
}


def on(**levels: str | list[str]) -> Json:
    """A policy's resource; a name that begins with `not_` is excluded."""
    return {
        name.removeprefix("not_"): {
            "values": [values] if isinstance(values, str) else values,
            "isExcludes": name.startswith("not_"),
        }
        for name, values in levels.items()
    }


def item(who: str, *accesses: str, **more: Any) -> Json:
    """An item: `alice` is a user, `@staff` a group, `%lead` a role; several with blanks between them."""
    names = who.split()
    return {
        "users": [n for n in names if n[0] not in "@%"],
        "groups": [n[1:] for n in names if n[0] == "@"],
        "roles": [n[1:] for n in names if n[0] == "%"],
        "accesses": [{"type": a} for a in accesses],
        **more,
    }


def policy(id_: int, resources: Json, allow: Sequence[Json] = (), deny: Sequence[Json] = (), **more: Any) -> Json:
    """A policy; everything else by Ranger's own names."""
    return {
        "id": id_,
        "name": f"policy {id_}",
        "version": 1,
        "resources": resources,
        "policyItems": list(allow),
        "denyPolicyItems": list(deny),
        **more,
    }


TAG_ENRICHERS = [{"enricher": "org.apache.ranger.plugin.contextenricher.RangerTagEnricher"}]
"""Context enrichers of a tag service whose tags are downloaded."""


def document(*policies: Json, **more: Any) -> Json:
    return {"serviceName": "shop1", "policyVersion": 1, "serviceDef": SHOP, "policies": list(policies), **more}


def engine(
    *policies: Any,
    roles: Sequence[Json] = (),
    tags: Json | None = None,
    options: EngineOptions = SAFE,
    **more: Any,
) -> PolicyEngine:
    """An engine of these policies."""
    return PolicyEngine.build(
        decode_service_policies(msgspec.json.encode(document(*policies, **more))),
        roles=decode_roles(msgspec.json.encode({"rangerRoles": list(roles)})),
        tags=ServiceTags() if tags is None else decode_service_tags(msgspec.json.encode(tags)),
        options=options,
    )


def asks(where: Mapping[str, Any], who: str = "alice", access: str = "read", **more: Any) -> AccessRequest:
    """A request; `alice @staff` is alice with the group staff, `%lead` a given role, `-` nobody in particular."""
    names = [n for n in who.split() if n != "-"]
    roles = frozenset(n[1:] for n in names if n[0] == "%")
    return AccessRequest(
        resource=where,
        access_type=access,
        user=next((n for n in names if n[0] not in "@%"), None),
        groups=frozenset(n[1:] for n in names if n[0] == "@"),
        roles=roles or None,
        **more,
    )
