"""Policies on a single entity that name users or roles: a grant changes them, and CDAP lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from ranger_cdap.cdap.entity import EntityId, from_resource, to_resource
from ranger_cdap.cdap.grant import ACCESS_TYPES, GranteeKind, held
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.decode import decode_policy
from ranger_cdap.ranger_model.json_text import decode_or_none
from ranger_cdap.ranger_model.policy import Policy, PolicyResource


def policies_of(engine: PolicyEngine, resource: Mapping[str, str]) -> Iterator[Policy | None]:
    """Yield the policies on exactly that resource, one of which a grant may change; None for an unreadable one."""
    for raw in engine.raw_policies():
        if _may_be_of(raw, resource):
            policy = _read(raw)
            if policy is None or resource in [_single_values(each) for each in _resources(policy)]:
                yield policy


def is_plain(policy: Policy) -> bool:
    """Return true if it only allows, without conditions, so that a grant added to it cannot undo a denial."""
    more = (
        policy.deny_policy_items,
        policy.allow_exceptions,
        policy.deny_exceptions,
        policy.is_deny_all_else,
        policy.conditions,
        policy.validity_schedules,
        policy.additional_resources,
        any(item.conditions for item in policy.policy_items),
    )
    return not any(more)


def granted_to(engine: PolicyEngine, name: str, kind: GranteeKind, instance: str) -> dict[EntityId, frozenset[str]]:
    """Return the access types that policies on single entities of the instance allow a user or role by name."""
    found: dict[EntityId, frozenset[str]] = {}
    for raw in engine.raw_policies():
        policy = _read(raw)
        accesses = held(policy, name, kind) if policy is not None else None
        if policy is None or not accesses:
            continue
        for resource in _resources(policy):
            entity = _entity(_single_values(resource), instance)
            if entity is not None:
                found[entity] = found.get(entity, frozenset()) | accesses
    return found


def policies_naming(engine: PolicyEngine, role: str) -> Iterator[Policy | None]:
    """Yield the policies that name a role in any list, those of tags too; None for an unreadable one that may."""
    tags = engine.view.policies.tag_policies
    for raw in (*engine.raw_policies(), *(tags.policies if tags is not None else ())):
        policy = _read(raw)
        if policy is None or any(role in item.roles for item in policy.items()):
            yield policy


def plain_grant(policy: Policy, role: str, instance: str) -> tuple[EntityId, frozenset[str]] | None:
    """Return what a policy gives a role, if that is no more than a grant made in CDAP could give; else None.

    It then allows some of the four access types on exactly one entity, without the right to delegate them.
    """
    resources = _single_values(policy.resources)
    entity = _entity(resources, instance)
    items = [item for item in policy.policy_items if role in item.roles]
    accesses = held(policy, role, "roles")
    if entity is None or not is_plain(policy) or any(item.delegate_admin for item in items):
        return None
    exact = to_resource(entity, instance) == resources and policy.policy_type == 0
    return (entity, accesses) if exact and accesses <= set(ACCESS_TYPES) else None


def delegating_items(raw: msgspec.Raw) -> Policy | None:
    """Return a policy with only its allow items that may be delegated, None without any; what is denied is left out."""
    policy = _read(raw)
    items = [item for item in policy.policy_items if item.delegate_admin] if policy is not None else []
    return (
        None
        if policy is None or not items
        else msgspec.structs.replace(
            policy,
            policy_items=items,
            deny_policy_items=[],
            allow_exceptions=[],
            deny_exceptions=[],
            is_deny_all_else=False,
        )
    )


def _read(raw: msgspec.Raw) -> Policy | None:
    try:
        return decode_policy(raw)
    except PolicySetError:
        return None


def _resources(policy: Policy) -> Iterable[Mapping[str, PolicyResource]]:
    return (policy.resources, *policy.additional_resources)


def _single_values(resources: Mapping[str, PolicyResource]) -> dict[str, str]:
    """Return the value of each level; empty if a level has none, several, or an exclusion."""
    return (
        {}
        if any(len(one.values) != 1 or one.is_excludes for one in resources.values())
        else {level: one.values[0] for level, one in resources.items()}
    )


def _entity(values: Mapping[str, str], instance: str) -> EntityId | None:
    on = from_resource(values)
    return on[1] if on is not None and on[0] == instance else None


def _may_be_of(raw: msgspec.Raw, resource: Mapping[str, str]) -> bool:
    """Return true if the policy may contain all values of the resource, or if that is unknown."""
    known = decode_or_none(raw)
    resources = known.get("resources") if isinstance(known, dict) else None
    more = known.get("additionalResources") if isinstance(known, dict) else None
    if not isinstance(resources, dict) or more:
        return True
    for level, value in resource.items():
        one = resources.get(level)
        values = one.get("values") if isinstance(one, dict) else None
        if isinstance(values, list) and value not in values:
            return False
    return True
