"""Who may do what: Ranger administrators, the users a service names in its configuration, and delegated ones."""

from __future__ import annotations

from ranger_cdap.embedded_admin.answers import refuse
from ranger_cdap.embedded_admin.call import Call
from ranger_cdap.embedded_admin.default_policies import split_names
from ranger_cdap.embedded_admin.records import StoredService

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
    """Whether the service names that user, or one of his groups, as its administrator."""
    if is_named(service, SERVICE_ADMINS, user):
        return True
    wanted = set(split_names(service.document.configs.get(SERVICE_ADMIN_GROUPS, "")))
    stored = call.tables.principals.user(user) if wanted else None
    return stored is not None and bool(wanted & {name for _, name in stored.groups})


def may_administer(call: Call, service: StoredService) -> bool:
    """Whether the caller may do everything with the policies of this service."""
    return call.caller.is_admin or is_service_admin(call, service, call.caller.name)


def require_policy_right(call: Call, service: StoredService) -> None:
    """Let administrators of Ranger and of the service change its policies.

    Raises:
        Refusal: 403 for everybody else.
    """
    if not may_administer(call, service):
        raise refuse(
            f"User '{call.caller.name}' does not have delegated-admin privilege on given resources", status=403
        )


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
