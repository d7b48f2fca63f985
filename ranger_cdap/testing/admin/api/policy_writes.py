"""Creation and update of policies on behalf of a caller."""

from __future__ import annotations

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.policy_store import (
    add_policy,
    checked,
    refuse_long_name,
    replace_policy,
    zone_problems,
)
from ranger_cdap.testing.admin.api.rights import require_policy_right
from ranger_cdap.testing.admin.model.documents import AdminPolicy
from ranger_cdap.testing.admin.model.responses import found, refuse_invalid
from ranger_cdap.testing.admin.model.validation import failure
from ranger_cdap.testing.admin.rules.policy_rules import check_alone
from ranger_cdap.testing.admin.store.records import StoredPolicy, StoredService


def service_of(call: AdminCall, policy: AdminPolicy) -> StoredService:
    """Return the service of a policy; raises `Refusal` 400 if it does not exist."""
    refuse_long_name(policy)
    unknown = failure(3007, policy.service) if policy.service.strip() else failure(3002, "service name")
    problems = [unknown, *check_alone(policy), *zone_problems(call, policy, None)]
    return found(call.tables.services.by_name(policy.service), refuse_invalid(problems))


def create(call: AdminCall, service: StoredService, policy: AdminPolicy) -> StoredPolicy:
    """Create a policy; raises `Refusal` if the caller has no right to, or if it violates a rule."""
    require_policy_right(call, service, policy)
    return add_policy(call, service, checked(call, service, policy, None))


def change(call: AdminCall, service: StoredService, old: StoredPolicy, policy: AdminPolicy) -> StoredPolicy:
    """Replace a policy; raises `Refusal` if the caller has no right to both, or if the new one violates a rule."""
    require_policy_right(call, service, old.document, policy)
    return replace_policy(call, service, old, checked(call, service, policy, old))
