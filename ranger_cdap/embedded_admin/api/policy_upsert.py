"""Writing policies on behalf of a caller: made, changed, or put into the enabled policy of the same resources."""

from __future__ import annotations

import msgspec

from ranger_cdap.embedded_admin.api.call import Call
from ranger_cdap.embedded_admin.api.policy_store import add_policy, checked, replace_policy
from ranger_cdap.embedded_admin.api.rights import require_policy_right
from ranger_cdap.embedded_admin.model.answers import found, refuse_invalid
from ranger_cdap.embedded_admin.model.documents import Policy
from ranger_cdap.embedded_admin.model.problems import problem
from ranger_cdap.embedded_admin.rules.grant_rules import applied
from ranger_cdap.embedded_admin.rules.policy_rules import signature
from ranger_cdap.embedded_admin.store.records import StoredPolicy, StoredService


def service_of(call: Call, policy: Policy) -> StoredService:
    """The service a policy names; raises `Refusal` 400 if there is none."""
    return found(call.tables.service(policy.service), refuse_invalid([problem(3007, policy.service)]))


def create(call: Call, service: StoredService, policy: Policy) -> StoredPolicy:
    """A new one; raises `Refusal` if the caller may not, or if it breaks a rule."""
    require_policy_right(call, service, policy)
    return add_policy(call, service, checked(call, service, policy, None))


def change(call: Call, service: StoredService, old: StoredPolicy, policy: Policy) -> StoredPolicy:
    """The old one replaced; raises `Refusal` if the caller may not change both, or if the new one breaks a rule."""
    require_policy_right(call, service, old.document, policy)
    return replace_policy(call, service, old, checked(call, service, policy, old))


def upsert(call: Call, policy: Policy, *, merge: bool) -> StoredPolicy:
    """Into the enabled policy of the same resources, whatever its name, or a new one; never a name twice."""
    service = service_of(call, policy)
    old = call.tables.policy_by_signature(service.stamp.id, signature(policy), policy.zone_name)
    if old is not None:
        return change(call, service, old, applied(old.document, policy) if merge else policy)
    taken = policy.name and call.tables.policy_by_name(service.stamp.id, policy.name, policy.zone_name)
    free = f"{policy.name}{call.now}" if taken else policy.name
    return create(call, service, msgspec.structs.replace(policy, name=free))
