"""Rights of Ranger administrators, of users named in a service's configuration, and of delegated administrators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from ranger_cdap.ranger_model.policy import PolicyItem, PolicyResource
from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.principals_in_use import roles_with
from ranger_cdap.testing.admin.model.documents import AdminPolicy
from ranger_cdap.testing.admin.model.responses import Refusal, refuse
from ranger_cdap.testing.admin.rules.grant_rules import may_delegate
from ranger_cdap.testing.admin.store.records import StoredService

SERVICE_ADMINS = "service.admin.users"
SERVICE_ADMIN_GROUPS = "service.admin.groups"
GRANTORS = "policy.grantrevoke.auth.users"
POLICY_DOWNLOAD = "policy.download.auth.users"
TAG_DOWNLOAD = "tag.download.auth.users"
USER_STORE_DOWNLOAD = "userstore.download.auth.users"


def is_named(service: StoredService, setting: str, user: str) -> bool:
    """Return whether a list of the service names exactly that user; `*` names everyone, but no administrator."""
    names = _listed(service, setting)
    return user in names or ("*" in names and setting != SERVICE_ADMINS)


def _listed(service: StoredService, setting: str) -> set[str]:
    # As on the real server, a blank beside a comma is part of the name.
    return set(service.document.configs.get(setting, "").split(",")) - {""}


def is_service_admin(call: AdminCall, service: StoredService, user: str) -> bool:
    """Return whether the service names that user, or one of their groups, as administrator."""
    if is_named(service, SERVICE_ADMINS, user):
        return True
    wanted = _listed(service, SERVICE_ADMIN_GROUPS)
    stored = call.tables.principals.users.by_name(user) if wanted else None
    return stored is not None and bool(wanted & {name for _, name in stored.groups})


def may_administer(call: AdminCall, service: StoredService, zone: str = "") -> bool:
    """Return whether the caller has all rights on the policies of this service, outside of zones or in this one."""
    return call.caller.is_admin or is_service_admin(call, service, call.caller.name) or _has_zone(call, zone, "admin")


def _has_zone(call: AdminCall, name: str, *parts: str) -> bool:
    """Return whether a zone has the caller among its people of these parts, `admin` and `audit`.

    Stricter than Ranger: a role in a role gives nothing.
    """
    zone, user = call.tables.zones.by_name(name), call.tables.principals.users.by_name(call.caller.name)
    if zone is None or user is None:
        return False
    members = {"users": {call.caller.name}, "groups": {group for _, group in user.groups}}
    roles = {role for kind, names in members.items() for one in names for role in roles_with(call, kind, one)}
    own = {"users": members["users"], "user_groups": members["groups"], "roles": roles}
    return any(own[kind] & set(getattr(zone.document, f"{part}_{kind}")) for part in parts for kind in own)


MayDelegate = Callable[[Mapping[str, PolicyResource], Iterable[str]], bool]
"""Whether a user may delegate all these access types on that resource; without types, any of them."""


def delegation(call: AdminCall, service: StoredService, user: str, zone: str) -> MayDelegate:
    """Return the right to delegate that the policies of one zone, or of no zone (empty), give to that user."""
    stored_user = call.tables.principals.users.by_name(user)
    definition = call.tables.definitions.by_name(service.document.type)
    if stored_user is None or definition is None:
        return lambda resources, types: False
    groups = {name for _, name in stored_user.groups}

    def names_user(item: PolicyItem) -> bool:
        return user in item.users or bool(groups & set(item.groups))

    stored = call.tables.policies(service.stamp.id, zone=zone, enabled_only=True)
    policies = [policy for policy in (row.document for row in stored) if any(map(names_user, policy.items()))]
    implied = {access.name: frozenset(access.implied_grants) for access in definition.document.access_types}
    return lambda resources, types: may_delegate(policies, resources, types, names_user, implied)


def policy_readers(call: AdminCall, service: StoredService) -> Callable[[AdminPolicy], bool]:
    """Return a predicate for the policies the caller may see: all, those of their zones, those they may delegate."""
    if may_administer(call, service):
        return lambda policy: True
    may = cache(lambda zone: delegation(call, service, call.caller.name, zone))
    reads = cache(lambda zone: _has_zone(call, zone, "admin", "audit"))
    return lambda policy: (
        reads(policy.zone_name)
        or all(may(policy.zone_name)(resources, ()) for resources in (policy.resources, *policy.additional_resources))
    )


def require_policy_reader(call: AdminCall, service: StoredService, policy: AdminPolicy) -> None:
    """Raise `Refusal` 403 unless the caller may see the policy (`policy_readers`)."""
    if not policy_readers(call, service)(policy):
        raise _no_delegate(call)


def require_policy_right(call: AdminCall, service: StoredService, *policies: AdminPolicy) -> None:
    """Require an administrator of Ranger, the service or the zone, or the right to delegate everything in the policies.

    For an update, these are the policies before and after it.

    Raises:
        Refusal: 403; the caller has no such right.
    """
    for policy in policies:
        if may_administer(call, service, policy.zone_name):
            continue
        may = delegation(call, service, call.caller.name, policy.zone_name)
        types = {name for item in policy.items() for name in item.access_types()}
        sets = (policy.resources, *policy.additional_resources)
        if policy.policy_type != 0 or not all(may(resources, types) for resources in sets):
            raise _no_delegate(call)


def _no_delegate(call: AdminCall) -> Refusal:
    return refuse(f"User '{call.caller.name}' does not have delegated-admin privilege on given resources", status=403)


def require_download_right(call: AdminCall, service: StoredService, settings: Sequence[str], what: str) -> None:
    """Require a Ranger administrator or a user named in one of the settings.

    Raises:
        Refusal: 403; the caller is neither.
    """
    if not call.caller.is_admin and not any(is_named(service, setting, call.caller.name) for setting in settings):
        raise refuse(f"User doesn't have permission to download {what}", status=403)
