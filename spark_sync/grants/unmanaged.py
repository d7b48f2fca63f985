"""Somebody else's policy on an entity: what grant REST may do to it, and what of a grant is there already. Pure.

Grant REST takes away every deny that speaks against what is granted, and what it gives in a policy that overrides
others or has conditions reaches further than a grant of ours. So only a policy that plainly allows is added to. Revoke
REST changes only what names the user, and finds only what is enabled and in effect for exactly that resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from ranger_cdap.cdap.grant import CREATORS_LABEL, Grant
from ranger_cdap.engine.model.wire import Policy, PolicyItem
from spark_sync.grants.grant_policy import resources_of

Signs = Mapping[str, Callable[[Policy], object]]

_OUT_OF_REACH: Final[Signs] = {
    "is switched off": lambda policy: not policy.isEnabled,
    "is no access policy": lambda policy: policy.policyType,
    "is in a security zone": lambda policy: policy.zoneName,
    "overrides other policies": lambda policy: policy.policyPriority,
    "has a validity period": lambda policy: policy.validitySchedules,
    "has further resources": lambda policy: policy.additionalResources,
    "has conditions": lambda policy: policy.conditions or any(item.conditions for item in _items(policy)),
}
_NOT_PLAIN: Final[Signs] = {
    "has deny items": lambda policy: policy.denyPolicyItems,
    "has exceptions": lambda policy: policy.allowExceptions or policy.denyExceptions,
    "denies all else": lambda policy: policy.isDenyAllElse,
    "is another sync job's": lambda policy: CREATORS_LABEL in policy.policyLabels,
}


def merge_obstacle(policy: Policy, grant: Grant) -> str | None:
    """Why this grant must not be added to that policy, in a few words; nothing if it may be."""
    return _reason(policy, grant, {**_OUT_OF_REACH, **_NOT_PLAIN})


def why_not_take_out(policy: Policy, grant: Grant) -> str | None:
    """Why this grant cannot be taken out of that policy without harm, in a few words; nothing if it can."""
    taking_away = (*policy.denyPolicyItems, *policy.allowExceptions, *policy.denyExceptions)
    if any(grant.user in item.users for item in taking_away):
        return f"has denials or exceptions for `{grant.user}`"
    return _reason(policy, grant, _OUT_OF_REACH)


def duplicate_policy(policy: Policy, others: Iterable[Policy]) -> Policy | None:
    """Another policy in effect for exactly that resource, as one that overrides or has a period may be.

    Grant and revoke REST take whichever they find first, so with a twin nobody knows which one they would change.
    """
    for other in others:
        resources = (other.resources, *other.additionalResources)
        if other.id != policy.id and other.isEnabled and policy.resources in resources:
            return other
    return None


def _reason(policy: Policy, grant: Grant, signs: Signs) -> str | None:
    if policy.resources != resources_of(grant):
        return "has another resource"
    if any(grant.user in item.users and item.delegateAdmin for item in policy.policyItems):
        return f"makes `{grant.user}` a delegated administrator, which a revoke would end"
    return next((words for words, holds in signs.items() if holds(policy)), None)


def _items(policy: Policy) -> Iterator[PolicyItem]:
    for items in (policy.policyItems, policy.denyPolicyItems, policy.allowExceptions, policy.denyExceptions):
        yield from items
