"""The policies Ranger makes for a new service: everything on every hierarchy, and EXPIRES_ON of a tag service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ranger_cdap.embedded_admin.model.documents import (
    Policy,
    PolicyItem,
    PolicyItemAccess,
    PolicyItemCondition,
    PolicyResource,
    ServiceDef,
)
from ranger_cdap.embedded_admin.rules.definitions import hierarchies

DEFAULT_USERS_CONFIGS = ("username", "default.policy.users")


def default_users(configs: Mapping[str, str]) -> list[str]:
    """Who gets the default policies; nobody, and so no policies, unless the service names them."""
    return list(dict.fromkeys(user for key in DEFAULT_USERS_CONFIGS for user in split_names(configs.get(key, ""))))


def split_names(text: str) -> list[str]:
    """The names of a comma-separated setting."""
    return [name for part in text.split(",") if (name := part.strip())]


def default_policies(service: str, definition: ServiceDef, users: Sequence[str]) -> Iterator[Policy]:
    """One policy for each hierarchy that gives the users every access type and the right to delegate."""
    if not users:
        return
    accesses = [PolicyItemAccess(type=access.name) for access in definition.access_types]
    for path in hierarchies(definition.resources):
        name = f"all - {', '.join(path)}"
        yield Policy(
            service=service,
            name=name,
            description=f"Policy for {name}",
            resources={level: PolicyResource(values=["*"]) for level in path},
            policy_items=[PolicyItem(accesses=accesses, users=list(users), delegate_admin=True)],
        )


def expires_on_policy(service: str, definition: ServiceDef) -> Policy:
    """The policy of every tag service: deny everybody what is tagged EXPIRES_ON once that date is past."""
    accesses = [PolicyItemAccess(type=access.name) for access in definition.access_types]
    condition = PolicyItemCondition(type="accessed-after-expiry", values=["yes"])
    return Policy(
        service=service,
        name="EXPIRES_ON",
        description="Policy for data with EXPIRES_ON tag",
        resources={"tag": PolicyResource(values=["EXPIRES_ON"])},
        deny_policy_items=[PolicyItem(accesses=accesses, groups=["public"], conditions=[condition])],
    )
