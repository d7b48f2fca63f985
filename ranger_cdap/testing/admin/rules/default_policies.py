"""Default policies of a new service: full access on every hierarchy, and EXPIRES_ON of a tag service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ranger_cdap.ranger_model.policy import PolicyItem, PolicyItemAccess, PolicyItemCondition, PolicyResource
from ranger_cdap.testing.admin.model.documents import AdminPolicy, AdminServiceDef
from ranger_cdap.testing.admin.rules.definitions import hierarchies

DEFAULT_USERS_CONFIGS = ("username", "default.policy.users")


def default_users(configs: Mapping[str, str]) -> list[str]:
    """Return the users of the default policies; without users in the configuration there are no policies."""
    parts = (part.strip() for key in DEFAULT_USERS_CONFIGS for part in configs.get(key, "").split(","))
    return list(dict.fromkeys(filter(None, parts)))


def default_policies(service: str, definition: AdminServiceDef, users: Sequence[str]) -> Iterator[AdminPolicy]:
    """Yield one policy per hierarchy with every access type and delegated administration for the users."""
    if not users:
        return
    accesses = [PolicyItemAccess(type=access.name) for access in definition.access_types]
    for path in hierarchies(definition.resources):
        name = f"all - {', '.join(path)}"
        yield AdminPolicy(
            service=service,
            name=name,
            description=f"Policy for {name}",
            resources={level: PolicyResource(values=["*"]) for level in path},
            policy_items=[PolicyItem(accesses=accesses, users=list(users), delegate_admin=True)],
        )


def expires_on_policy(service: str, definition: AdminServiceDef) -> AdminPolicy:
    """Return the policy of every tag service: deny access to resources tagged EXPIRES_ON after that date."""
    accesses = [PolicyItemAccess(type=access.name) for access in definition.access_types]
    condition = PolicyItemCondition(type="accessed-after-expiry", values=["yes"])
    return AdminPolicy(
        service=service,
        name="EXPIRES_ON",
        description="Policy for data with EXPIRES_ON tag",
        resources={"tag": PolicyResource(values=["EXPIRES_ON"])},
        deny_policy_items=[PolicyItem(accesses=accesses, groups=["public"], conditions=[condition])],
    )
