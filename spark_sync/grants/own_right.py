"""`OwnRight`: what the sync job wrote for a creator, in a policy of ours that people have edited. Pure.

Law: taking it out of a policy leaves every other name, access type, resource and condition as it is, and no item that
allows the creator what was written. People's edits take it away: they disable the policy, take the name out of it,
deny in it, or put a condition on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import msgspec

from ranger_cdap.cdap.grant import ACCESS_TYPES, FORMER_LABEL, granted_resource, held
from ranger_cdap.engine.view import SELF_KINDS, MatchType, ServiceModel, compile_resource, compile_service_def
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy, PolicyItem
from ranger_cdap.ranger_model.service_def import ServiceDef
from servicedef import service_definition
from spark_sync.ledger.life import Life


@dataclass(frozen=True, slots=True)
class OwnRight:
    """Access types of a creator.

    That the creator may pass them on in a policy of ours is ours, too: who left it there is unknown.
    """

    user: str
    accesses: frozenset[str]

    def taken_from(self, policy: Policy) -> str:
        """Return how a person took the right out of this policy of ours, empty if it is there."""
        who = f"`{policy.updated_by}`" if policy.updated_by else "a person"
        named = f"policy {policy.id} (`{policy.name}`)"
        if not policy.is_enabled:
            return f"taken: {who} disabled {named}"
        if any(self.user in item.users for item in policy.deny_policy_items):
            return f"taken: {who} denies `{self.user}` in {named}"
        if policy.conditions or policy.validity_schedules:
            return f"taken: {who} limited {named} by a condition or a period"
        if missing := sorted(self.accesses - held(policy, self.user)):
            return f"taken: {who} took {', '.join(missing)} of `{self.user}` out of {named}"
        return ""

    def out_of(self, policy: Policy) -> Policy:
        """Return the policy without the right."""
        return replaced(policy, policy_items=[rest for item in policy.policy_items for rest in self._rest(item)])

    def is_in(self, policy: Policy) -> bool:
        """Return whether an item of the policy, enabled or not, gives any of it."""
        return self.out_of(policy) != policy

    def _rest(self, item: PolicyItem) -> Iterator[PolicyItem]:
        users = [name for name in item.users if name == self.user]
        ours = [access for access in item.accesses if access.is_allowed and access.type in self.accesses]
        if not users or not (ours or item.delegate_admin):
            yield item
            return
        others = [name for name in item.users if name not in users]
        if others or item.groups or item.roles:
            yield replaced(item, users=others)
        left = [access for access in item.accesses if access not in ours]
        if left:
            yield replaced(item, users=users, groups=[], roles=[], accesses=left, delegate_admin=False)


def given(policy: Policy) -> frozenset[tuple[str, str, str, bool, str]]:
    """Return all that the allow items of a policy give, one name and access type at a time."""
    return frozenset(
        (kind, name, access.type, item.delegate_admin, str(item.conditions))
        for item in policy.policy_items
        for kind, names in (("user", item.users), ("group", item.groups), ("role", item.roles))
        for name in names
        for access in item.accesses
        if access.is_allowed
    )


def covers(policy: Policy, resource: Mapping[str, str]) -> bool:
    """Return whether a policy applies to exactly this resource of one value per level, as a grant names it."""
    return not SELF_KINDS.isdisjoint(_matches(policy, resource))


def touches(policy: Policy, resource: Mapping[str, str]) -> bool:
    """Return whether a policy applies to the resource or to something in it."""
    whole = {level: value for level, value in resource.items() if value != "*"}
    return not {*SELF_KINDS, MatchType.DESCENDANT}.isdisjoint(_matches(policy, whole))


def _matches(policy: Policy, resource: Mapping[str, str]) -> Iterator[MatchType]:
    model = service_model()
    path = model.path_of(frozenset(resource)) or ()
    values = tuple(resource[level] for level in path)
    for one in (policy.resources, *policy.additional_resources):
        if (compiled := compile_resource(one, model)) is not None:
            yield compiled.match(path, values, None)


def gives(policy: Policy, life: Life, instance: str) -> bool:
    """Return whether a policy has any right of the creator, and none that people left in it or gave since."""
    resource, right = granted_resource(life.entity, instance), OwnRight(life.holder, frozenset(ACCESS_TYPES))
    return FORMER_LABEL not in policy.policy_labels and touches(policy, resource) and right.is_in(policy)


@cache
def service_model() -> ServiceModel:
    """Return the model of our service definition."""
    return compile_service_def(msgspec.convert(service_definition(), ServiceDef))
