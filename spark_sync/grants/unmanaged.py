"""Unmanaged policies, those of another author, on an entity: whether grant and revoke REST may change them. Pure.

Grant REST removes every deny that contradicts the grant, and in a policy that overrides others or has conditions a
grant reaches further than one of ours. So grants are only added to plain allow policies. Revoke REST changes only items
that name the user, and finds only enabled policies in effect for exactly that resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from ranger_cdap.cdap.grant import CREATORS_LABEL, Grant, resources_of
from ranger_cdap.ranger_model.policy import Policy, PolicyItem

Signs = Mapping[str, Callable[[Policy], object]]

_OUT_OF_REACH: Final[Signs] = {
    "is disabled": lambda policy: not policy.is_enabled,
    "is not an access policy": lambda policy: policy.policy_type,
    "is in a security zone": lambda policy: policy.zone_name,
    "overrides other policies": lambda policy: policy.policy_priority,
    "has a validity period": lambda policy: policy.validity_schedules,
    "has further resources": lambda policy: policy.additional_resources,
    "has conditions": lambda policy: policy.conditions or any(item.conditions for item in _items(policy)),
}
_NOT_PLAIN: Final[Signs] = {
    "has deny items": lambda policy: policy.deny_policy_items,
    "has exceptions": lambda policy: policy.allow_exceptions or policy.deny_exceptions,
    "denies all else": lambda policy: policy.is_deny_all_else,
    "belongs to another sync job": lambda policy: CREATORS_LABEL in policy.policy_labels,
}


def merge_obstacle(policy: Policy, grant: Grant) -> str | None:
    """Return why this grant must not be added to that policy, in a few words; `None` if it may be."""
    return _reason(policy, grant, {**_OUT_OF_REACH, **_NOT_PLAIN})


def removal_obstacle(policy: Policy, grant: Grant) -> str | None:
    """Return why this grant cannot be safely removed from that policy, in a few words; `None` if it can."""
    taking_away = (*policy.deny_policy_items, *policy.allow_exceptions, *policy.deny_exceptions)
    if any(grant.user in item.users for item in taking_away):
        return f"has denials or exceptions for `{grant.user}`"
    return _reason(policy, grant, _OUT_OF_REACH)


def is_rival(policy: Policy, grant: Grant) -> bool:
    """Return whether Ranger refuses a policy for exactly this grant, because that policy has its resource.

    Ranger compares the resources, priority, validity periods, conditions and zones of enabled policies
    (`RangerPolicyResourceSignature`). It does not compare a policy of several resources with those of a single one.
    """
    alike = not (policy.policy_type or policy.zone_name or policy.policy_priority)
    plain = not (policy.validity_schedules or policy.conditions or policy.additional_resources)
    return policy.is_enabled and alike and plain and policy.resources == resources_of(grant)


def duplicate_policy(policy: Policy, others: Iterable[Policy]) -> Policy | None:
    """Return another policy in effect for exactly that resource, as one that overrides or has a period may be.

    Grant and revoke REST change the first one they find, so with a duplicate it is unknown which one.
    """
    for other in others:
        resources = (other.resources, *other.additional_resources)
        if other.id != policy.id and other.is_enabled and policy.resources in resources:
            return other
    return None


def _reason(policy: Policy, grant: Grant, signs: Signs) -> str | None:
    if policy.resources != resources_of(grant):
        return "is on another resource"
    if any(grant.user in item.users and item.delegate_admin for item in policy.policy_items):
        return f"makes `{grant.user}` a delegated administrator, which a revoke would end"
    return next((words for words, holds in signs.items() if holds(policy)), None)


def _items(policy: Policy) -> Iterator[PolicyItem]:
    for items in (policy.policy_items, policy.deny_policy_items, policy.allow_exceptions, policy.deny_exceptions):
        yield from items
