"""The order in which policies are looked at: it decides which of several allowing policies is named.

Part of the reference engine; numbers in brackets are sections of `ranger-semantics.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from tests.differential.reference_resources import Element, fits, hierarchies

Json = Mapping[str, Any]

SIDES = ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions")


def has_deny(policy: Json) -> bool:
    return bool(policy.get("isDenyAllElse") or policy.get("denyPolicyItems"))


def rank(service_def: Json, policy: Json) -> tuple[int, bool, int, bytes]:
    """Priority, denies first, the most general first, then the name [§6.5]."""
    by_name = policy["name"].encode("utf-16-be")
    return -policy.get("policyPriority", 0), not has_deny(policy), eval_order(service_def, policy), by_name


def eval_order(service_def: Json, policy: Json) -> int:
    defs = {d["name"]: d for d in service_def["resources"]}
    items = [item for side in SIDES for item in policy.get(side) or ()]
    users, groups = ({name for item in items for name in item.get(kind) or () if name} for kind in ("users", "groups"))
    everybody = policy.get("isDenyAllElse") or "{USER}" in users or "public" in {group.lower() for group in groups}
    accesses = {a["type"] for item in items for a in item.get("accesses") or () if a.get("isAllowed", True)}
    conditions = sum(len(each.get("conditions") or ()) for each in [policy, *items])
    every_resource = [policy["resources"], *(policy.get("additionalResources") or ())]
    return (
        10000
        - min(100, sum(generality(level) for name, level in policy["resources"].items() if name in defs))
        + 20 * any(needs_expansion(service_def, defs, resources) for resources in every_resource)
        - (25 if everybody else min(25, len(users) + len(groups)))
        - math.floor(25 * len(accesses) / len(service_def["accessTypes"]) + 0.5)
        - max(0, 25 - 5 * conditions)
    )


def generality(level: Json) -> int:
    values = [value for value in level.get("values") or () if value is not None]
    if not values:
        return 0
    if any(value in ("", "*") for value in values):
        return 25
    wild = 10 if any("*" in value for value in values) else 5 * any("?" in value for value in values)
    return wild + 5 * bool(level.get("isExcludes")) + 5 * bool(level.get("isRecursive"))


def needs_expansion(service_def: Json, defs: Mapping[str, Json], resources: Json) -> bool:
    if not any(fits(resources, hierarchy) for hierarchy in hierarchies(service_def)):
        return False
    elements = [Element(defs[name], level) for name, level in resources.items()]
    return any(
        "\\" in value or ("{" in value and "}" in value)
        for element in elements
        if element.replace_tokens and not element.match_any
        for value in element.values
    )


def java_set_order(names: Iterable[str]) -> list[str]:
    """The order in which a `java.util.HashSet` of at most 12 strings is walked [§7.4]."""

    def bucket(name: str) -> int:
        value = 0
        for character in name:
            value = (31 * value + ord(character)) & 0xFFFFFFFF
        return (value ^ (value >> 16)) & 15

    return sorted(dict.fromkeys(names), key=bucket)
