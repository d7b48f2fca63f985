"""Handlers of users."""

from __future__ import annotations

import msgspec

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.envelope import envelope, name_list
from ranger_cdap.testing.admin.api.principals_in_use import remove_from_policies
from ranger_cdap.testing.admin.model.documents import User
from ranger_cdap.testing.admin.model.responses import (
    ServerResponse,
    found,
    json_response,
    refuse,
    refuse_because,
    unknown,
)
from ranger_cdap.testing.admin.rules.passwords import hash_password, is_strong
from ranger_cdap.testing.admin.store.records import StoredUser

_WEAK = "Password should be minimum 8 characters, at least one uppercase letter, one lowercase letter and one numeric."


def create_user(call: AdminCall) -> ServerResponse:
    """POST a new one; only a salted hash of its password is stored."""
    sent = call.read(User, "VXUser")
    principals = call.tables.principals
    if not sent.name.strip():
        raise refuse_because("INVALID_INPUT_DATA", "Please provide a valid username.")
    if principals.users.by_name(sent.name) is not None:
        raise refuse_because("ERROR_DUPLICATE_OBJECT", f"{sent.name} already exists")
    if not is_strong(sent.password):
        raise refuse_because("INVALID_PASSWORD", "serverMsg.xuserMgrValidatePassword", field=_WEAK)
    roles = [role for role in sent.user_role_list if role] or ["ROLE_USER"]
    user = msgspec.structs.replace(sent, password="", user_role_list=roles, group_id_list=[])
    principals.insert_user(user, hash_password(sent.password), call.caller.shown_name, call.now)
    stored = _user(call, user.name)
    for group in principals.groups.all():
        if group.id in sent.group_id_list:
            principals.add_member(group.id, stored.id, call.now)
    return json_response(_user(call, user.name).to_json())


def get_user_by_name(call: AdminCall) -> ServerResponse:
    """GET one by name, for others than administrators only themselves; an unknown one is 400 here."""
    _require_own(call, call.path["name"])
    return get_user(call)


def get_user(call: AdminCall) -> ServerResponse:
    """GET one by id."""
    return json_response(call.of_path(call.tables.principals.users, unknown).to_json())


def list_users(call: AdminCall) -> ServerResponse:
    """GET those whose name contains the parameter `name`, in an envelope; others than administrators get themselves."""
    users = call.tables.principals.users.all(call.query.get("name"))
    if not call.caller.is_admin:
        _require_own(call, call.query.get("name") or call.caller.name)
        users = [_user(call, call.caller.name)]
    return json_response(envelope(call, "vXUsers", users, StoredUser.to_json))


def look_up_users(call: AdminCall) -> ServerResponse:
    """GET the names that contain the parameter `name`; any user may."""
    return name_list(call, call.tables.principals.users.all(call.query.get("name")))


def delete_user(call: AdminCall) -> ServerResponse:
    """DELETE by id or name; refused while a role has the user as a member. Policies keep the rest of their items."""
    stored = call.of_path(call.tables.principals.users, unknown)
    name = stored.document.name
    if name == call.caller.name:
        raise refuse("Can Not Delete User: an administrator cannot delete their own account")
    remove_from_policies(call, "users", name)
    call.tables.principals.users.delete(stored.id, call.now)
    return ServerResponse(204)


def _require_own(call: AdminCall, name: str) -> None:
    if not call.caller.is_admin and name != call.caller.name:
        raise refuse("Logged-In user is not allowed to access requested user data", status=403)


def _user(call: AdminCall, name: str) -> StoredUser:
    return found(call.tables.principals.users.by_name(name), unknown(name))
