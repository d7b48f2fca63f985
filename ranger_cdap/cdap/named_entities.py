"""Entities that a policy names one by one, without wildcards. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Final

from ranger_cdap.cdap.entity import EntityId, from_resource
from ranger_cdap.ranger_model.policy import Policy, PolicyResource

MOST_NAMED: Final = 1_000
"""Entities that one list of resources may name; those of a longer one are not listed."""


def named_entities(resources: Mapping[str, PolicyResource]) -> Iterator[tuple[str, EntityId]]:
    """Yield instance and entity of each combination of values that is exactly one entity."""
    all_plain = not any(one.is_excludes or one.is_recursive for one in resources.values())
    if not all_plain or prod(len(one.values) for one in resources.values()) > MOST_NAMED:
        return
    yield from (
        found
        for values in product(*(one.values for one in resources.values()))
        if (found := from_resource(dict(zip(resources, values, strict=True))))
    )


def exact_entity(policy: Policy) -> tuple[str, EntityId] | None:
    """Return instance and entity if all resources that a policy lists are exactly that one; `None` if they are not."""
    found = set[tuple[str, EntityId] | None]()
    for resources in (policy.resources, *policy.additional_resources):
        named = list(named_entities(resources))
        found.add(named[0] if len(named) == 1 and all(len(one.values) == 1 for one in resources.values()) else None)
    return found.pop() if len(found) == 1 else None


def allows(policy: Policy) -> list[str]:
    """Return the users, groups and roles that the allow items of an enabled policy name, each once, with its kind."""
    items = policy.policy_items if policy.is_enabled and policy.policy_type == 0 else []
    return list(
        dict.fromkeys(
            f"{kind} `{name}`"
            for item in items
            if any(access.is_allowed for access in item.accesses)
            for kind, names in (("user", item.users), ("group", item.groups), ("role", item.roles))
            for name in names
        )
    )
