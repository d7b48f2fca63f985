"""Who may do what: Ranger administrators, the users a service names in its configuration, and delegated ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from ranger_cdap.embedded_admin.api.call import Call
from ranger_cdap.embedded_admin.model.answers import Refusal, refuse
from ranger_cdap.embedded_admin.model.documents import Policy, PolicyItem, PolicyResource
from ranger_cdap.embedded_admin.rules.default_policies import split_names
from ranger_cdap.embedded_admin.rules.grant_rules import may_delegate
from ranger_cdap.embedded_admin.store.records import StoredService

SERVICE_ADMINS = "service.admin.users"
SERVICE_ADMIN_GROUPS = "service.admin.groups"
GRANTORS = "policy.grantrevoke.auth.users"
POLICY_DOWNLOAD = "policy.download.auth.users"
TAG_DOWNLOAD = "tag.download.auth.users"
USER_STORE_DOWNLOAD = "userstore.download.auth.users"


def is_named(service: StoredService, setting: str, user: str) -> bool:
    """Whether a setting of the service names that user, written exactly so."""
    return user in split_names(service.document.configs.get(setting, ""))


def is_service_admin(call: Call, service: StoredService, user: str) -> bool:
    """Whether the service names that user, or one of their groups, as its administrator."""
    if is_named(service, SERVICE_ADMINS, user):
        return True
    wanted = set(split_names(service.document.configs.get(SERVICE_ADMIN_GROUPS, "")))
    stored = call.tables.principals.user(user) if wanted else None
    return stored is not None and bool(wanted & {name for _, name in stored.groups})


def may_administer(call: Call, service: StoredService) -> bool:
    """Whether the caller may do everything with the policies of this service."""
    return call.caller.is_admin or is_service_admin(call, service, call.caller.name)


MayDelegate = Callable[[Mapping[str, PolicyResource], Iterable[str]], bool]
"""Whether somebody may delegate all these access types on that resource; without types, any at all."""


def delegation(call: Call, service: StoredService, user: str, zone: str) -> MayDelegate:
    """What the policies of one zone of the service, or of no zone (empty), let that user delegate."""
    stored_user = call.tables.principals.user(user)
    definition = call.tables.definition(service.document.type)
    if stored_user is None or definition is None:
        return lambda resources, types: False
    groups = {name for _, name in stored_user.groups}

    def names_him(item: PolicyItem) -> bool:
        return user in item.users or bool(groups & set(item.groups))

    stored = call.tables.policies(service.stamp.id, zone=zone, enabled_only=True)
    policies = [policy for policy in (row.document for row in stored) if any(map(names_him, policy.items()))]
    implied = {access.name: frozenset(access.implied_grants) for access in definition.document.access_types}
    return lambda resources, types: may_delegate(policies, resources, types, names_him, implied)


def policy_readers(call: Call, service: StoredService) -> Callable[[Policy], bool]:
    """The policies of the service the caller may see: all as administrator, else where they may delegate something."""
    if may_administer(call, service):
        return lambda policy: True
    may = cache(lambda zone: delegation(call, service, call.caller.name, zone))
    return lambda policy: all(
        may(policy.zone_name)(resources, ()) for resources in (policy.resources, *policy.additional_resources)
    )


def require_policy_reader(call: Call, service: StoredService, policy: Policy) -> None:
    """Let those see a policy who may, as `policy_readers` says; raises `Refusal` 403 for everybody else."""
    if not policy_readers(call, service)(policy):
        raise _no_delegate(call)


def require_policy_right(call: Call, service: StoredService, *policies: Policy) -> None:
    """Let administrators of Ranger and of the service change policies, and those who may delegate all that is in them.

    For a change that is the policy before and the policy after it.

    Raises:
        Refusal: 403 for everybody else.
    """
    if may_administer(call, service):
        return
    for policy in policies:
        may = delegation(call, service, call.caller.name, policy.zone_name)
        types = {name for item in policy.items() for name in item.access_types()}
        sets = (policy.resources, *policy.additional_resources)
        if policy.policy_type != 0 or not all(may(resources, types) for resources in sets):
            raise _no_delegate(call)


def _no_delegate(call: Call) -> Refusal:
    return refuse(f"User '{call.caller.name}' does not have delegated-admin privilege on given resources", status=403)


def require_service_right(call: Call, service: StoredService | None) -> None:
    """Let administrators of Ranger and of the service see the service.

    Raises:
        Refusal: 403 for everybody else, whether there is such a service or not.
    """
    if not call.caller.is_admin and (service is None or not is_service_admin(call, service, call.caller.name)):
        raise refuse("User is not allowed to access the API", status=403)


def require_download_right(call: Call, service: StoredService, setting: str, what: str) -> None:
    """Let Ranger administrators and the users named in the setting download.

    Raises:
        Refusal: 403 for everybody else.
    """
    if not call.caller.is_admin and not is_named(service, setting, call.caller.name):
        raise refuse(f"User doesn't have permission to download {what}", status=403)
