"""Handlers of roles."""

from __future__ import annotations

from collections.abc import Iterable

from ranger_cdap.ranger.changes.refusals import LONGEST_DESCRIPTION
from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.envelope import envelope
from ranger_cdap.testing.admin.api.policy_store import create_principals, require_principals
from ranger_cdap.testing.admin.api.principals_in_use import replace_in_policies, roles_with
from ranger_cdap.testing.admin.api.rights import may_administer
from ranger_cdap.testing.admin.model.documents import AdminRole
from ranger_cdap.testing.admin.model.responses import (
    ServerResponse,
    found,
    json_response,
    not_found,
    refuse,
    refuse_because,
    refuse_invalid,
)
from ranger_cdap.testing.admin.model.validation import failure
from ranger_cdap.testing.admin.store.records import StoredRole, StoredService


def create_role(call: AdminCall) -> ServerResponse:
    """POST a new one; unknown members are refused unless `createNonExistUserGroup` makes users and groups.

    Administrators of the service that `serviceName` names may do this too, but cannot make users and groups.
    """
    _require_service_admin(call)
    sent = call.read(AdminRole, "RangerRole")
    require_sound_role(call, sent, None)
    call.tables.principals.roles.insert(sent, call.caller.shown_name, call.now)
    _raise_policy_versions(call, sent.name)
    return json_response(_role(call, sent.name).to_json())


def update_role(call: AdminCall) -> ServerResponse:
    """PUT by id."""
    _require_admin(call)
    old = call.of_path(call.tables.principals.roles)
    sent = call.read(AdminRole, "RangerRole")
    require_sound_role(call, sent, old)
    if sent.name != old.document.name:
        replace_in_policies(call, "roles", old.document.name, [sent.name])
    store_role(call, old, sent)
    return json_response(_role(call, sent.name).to_json())


def store_role(call: AdminCall, old: StoredRole, role: AdminRole) -> None:
    """Replace a role, and raise the policy versions of services whose policies name it."""
    call.tables.principals.roles.update(old.stamp.id, role, call.caller.shown_name, call.now)
    _raise_policy_versions(call, role.name)


def get_role(call: AdminCall) -> ServerResponse:
    """GET one by id; any user may."""
    return json_response(call.of_path(call.tables.principals.roles).to_json())


def get_role_by_name(call: AdminCall) -> ServerResponse:
    """GET one by name; an unknown one is 400 here. Also for administrators of the service that `serviceName` names."""
    _require_service_admin(call)
    return json_response(_role(call, call.path["name"]).to_json())


def list_roles(call: AdminCall) -> ServerResponse:
    """GET all."""
    _require_admin(call)
    return json_response(call.page().of([role.to_json() for role in call.tables.principals.roles.all()]))


def list_roles_in_envelope(call: AdminCall) -> ServerResponse:
    """GET all with the total count."""
    _require_admin(call)
    return json_response(envelope(call, "roles", call.tables.principals.roles.all(), StoredRole.to_json))


def list_role_names(call: AdminCall) -> ServerResponse:
    """GET the names only; also for administrators of the service that `serviceName` names."""
    _require_service_admin(call)
    return json_response([role.document.name for role in call.tables.principals.roles.all()])


def list_roles_of_user(call: AdminCall) -> ServerResponse:
    """GET the names of the roles a user is in, by name or by a group, and of all roles *in* these; any user may."""
    user = call.tables.principals.users.by_name(call.path["name"])
    if user is None:
        raise not_found()
    names = roles_with(call, "users", call.path["name"])
    for _, group in user.groups:
        names += roles_with(call, "groups", group)
    return json_response(list(_with_inner(call, names)))


def delete_role(call: AdminCall) -> ServerResponse:
    """DELETE by id; refused while a policy or another role names it."""
    _require_admin(call)
    return _delete(call, call.of_path(call.tables.principals.roles))


def delete_role_by_name(call: AdminCall) -> ServerResponse:
    """DELETE by name; also for administrators of the service that `serviceName` names."""
    _require_service_admin(call)
    return _delete(call, _role(call, call.path["name"]))


def _delete(call: AdminCall, role: StoredRole) -> ServerResponse:
    name = role.document.name
    if _services_naming(call, name):
        raise refuse(f"Role '{name}' can not be deleted as it is referenced in one or more policies", code=1)
    if roles_with(call, "roles", name):
        raise refuse(f"Role '{name}' can not be deleted as it is referenced in one or more other roles", code=1)
    if any(name in (*zone.document.admin_roles, *zone.document.audit_roles) for zone in call.tables.zones.all()):
        raise refuse(f"Role '{name}' can not be deleted as it is referenced in one or more security zones", code=1)
    call.tables.principals.roles.delete(role.stamp.id, call.now)
    return ServerResponse(204)


def require_sound_role(call: AdminCall, sent: AdminRole, old: StoredRole | None) -> None:
    """Validate a role before it is stored.

    Raises:
        Refusal: 400; its name is missing or taken, it contains itself, or a member is unknown to Ranger.
    """
    principals = call.tables.principals
    if not sent.name:
        raise refuse_invalid([failure(4003)])
    if not sent.name.strip():
        raise refuse(f"Role with name: {sent.name} does not exist", code=1)
    if any(member.name in ("{OWNER}", "{USER}") for member in sent.users):
        raise refuse("Invalid role user(s)", code=1)
    if len(sent.description) > LONGEST_DESCRIPTION:
        raise refuse("ERROR: value too long for type character varying(1024)", code=1)
    same = principals.roles.by_name(sent.name)
    if same is not None and (old is None or same.stamp.id != old.stamp.id):
        raise refuse_because("ERROR_DUPLICATE_OBJECT", f"role with name: {sent.name} already exists")
    if old is not None and sent.name in _with_inner(call, (member.name for member in sent.roles)):
        raise refuse(f"Role '{sent.name}' would contain itself", code=1)
    users, groups, roles = (
        [member.name for member in members if member.name] for members in (sent.users, sent.groups, sent.roles)
    )
    if call.flag("createNonExistUserGroup") and call.caller.is_admin:
        create_principals(call, users=users, groups=groups)
    require_principals(call, (("user", "users", users), ("Group", "groups", groups), ("Role", "roles", roles)))


def _with_inner(call: AdminCall, names: Iterable[str]) -> dict[str, None]:
    """Return these roles, and all roles in them, as they are stored: each once, the outer ones first."""
    inside = {role.document.name: role.document.roles for role in call.tables.principals.roles.all()}
    new = known = dict.fromkeys(names)
    while new:
        new = {member.name: None for name in new for member in inside.get(name, ()) if member.name not in known}
        known |= new
    return known


def _raise_policy_versions(call: AdminCall, name: str) -> None:
    for service in _services_naming(call, name):
        call.tables.raise_policy_version(service.stamp.id, call.now)


def _services_naming(call: AdminCall, name: str) -> list[StoredService]:
    return [
        service
        for service in call.tables.services.all()
        if any(
            name in item.roles for stored in call.tables.policies(service.stamp.id) for item in stored.document.items()
        )
    ]


def _require_admin(call: AdminCall) -> None:
    if not call.caller.is_admin:
        raise refuse("User does not have permission for this operation", code=1)


def _require_service_admin(call: AdminCall) -> None:
    service = call.tables.services.by_name(call.query.get("serviceName", ""))
    if service is None or not may_administer(call, service):
        _require_admin(call)


def _role(call: AdminCall, name: str) -> StoredRole:
    return found(
        call.tables.principals.roles.by_name(name),
        refuse(f"User doesn't have permissions to get details for {name}", code=1),
    )
