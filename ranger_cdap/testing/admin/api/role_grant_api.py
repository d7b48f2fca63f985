"""Handlers of grant and revoke of roles, on behalf of a grantor."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ranger_cdap.ranger_model.role import RoleMember
from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.rights import is_service_admin, may_administer
from ranger_cdap.testing.admin.api.role_api import require_sound_role, store_role
from ranger_cdap.testing.admin.model.documents import KINDS, AdminRole, GrantRevokeRole
from ranger_cdap.testing.admin.model.responses import DONE, ServerResponse, json_response, refuse
from ranger_cdap.testing.admin.store.principals import ADMIN_ROLE

_Rule = Callable[[list[RoleMember], list[str], bool], list[RoleMember]]


def grant_role(call: AdminCall) -> ServerResponse:
    """PUT new members into the target roles; with `grantOption` they, and members named again, become its admins."""
    return _change(call, "grant", _granted)


def revoke_role(call: AdminCall) -> ServerResponse:
    """PUT members out of the target roles; with `grantOption` they stay, but are no longer its admins."""
    return _change(call, "revoke", _revoked)


def _change(call: AdminCall, what: str, change: _Rule) -> ServerResponse:
    request = call.read(GrantRevokeRole, "GrantRevokeRoleRequest")
    for name in request.target_roles:
        old = call.tables.principals.roles.by_name(name)
        if old is None or not _may(call, request, old.document):
            raise refuse(f"User doesn't have permissions to {what} role {name}", code=1)
        role = old.document
        for kind in KINDS:
            setattr(role, kind, change(getattr(role, kind), getattr(request, kind), request.grant_option))
        require_sound_role(call, role, old)
        store_role(call, old, role)
    return json_response(DONE)


def _granted(members: list[RoleMember], names: list[str], admin: bool) -> list[RoleMember]:
    known = [
        RoleMember(name=member.name, is_admin=member.is_admin or (admin and member.name in names)) for member in members
    ]
    there = {member.name for member in members}
    return known + [RoleMember(name=name, is_admin=admin) for name in dict.fromkeys(names) if name not in there]


def _revoked(members: list[RoleMember], names: list[str], admin: bool) -> list[RoleMember]:
    if admin:
        return [
            RoleMember(name=member.name, is_admin=member.is_admin and member.name not in names) for member in members
        ]
    return [member for member in members if member.name not in names]


def _may(call: AdminCall, request: GrantRevokeRole, role: AdminRole) -> bool:
    """Return whether the grantor administers Ranger, the service or the role, and the caller may act for them.

    Groups claimed by the request are not trusted; only those known to Ranger count.
    """
    caller, service = call.caller, call.tables.services.by_name(call.path["name"])
    grantor = request.grantor or caller.name
    trusted = caller.is_admin if service is None else may_administer(call, service)
    if grantor != caller.name and not trusted:
        return False
    stored = call.tables.principals.users.by_name(grantor)
    if stored is None:
        return False
    if service is not None and is_service_admin(call, service, grantor):
        return True
    groups = [name for _, name in stored.groups]
    return ADMIN_ROLE in stored.document.user_role_list or _is_admin(call, role, grantor, groups)


def _is_admin(call: AdminCall, role: AdminRole, user: str, groups: Collection[str]) -> bool:
    if _names(role.users, [user]) or _names(role.groups, groups):
        return True
    inside = (call.tables.principals.roles.by_name(member.name) for member in role.roles if member.is_admin)
    return any(
        user in (member.name for member in stored.document.users)
        or not {member.name for member in stored.document.groups}.isdisjoint(groups)
        for stored in inside
        if stored is not None
    )


def _names(members: list[RoleMember], names: Collection[str]) -> bool:
    return any(member.is_admin and member.name in names for member in members)
