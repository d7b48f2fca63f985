"""The handlers of users."""

from __future__ import annotations

import msgspec

from ranger_cdap.embedded_admin.api.call import Call
from ranger_cdap.embedded_admin.api.envelope import envelope
from ranger_cdap.embedded_admin.api.principals_in_use import let_go
from ranger_cdap.embedded_admin.model.answers import Answer, empty, found, json_answer, refuse, refuse_because, unknown
from ranger_cdap.embedded_admin.model.documents import User
from ranger_cdap.embedded_admin.rules.passwords import hash_password, is_strong
from ranger_cdap.embedded_admin.store.records import StoredUser

_WEAK = "Password should be minimum 8 characters, at least one uppercase letter, one lowercase letter and one numeric."


def create_user(call: Call) -> Answer:
    """POST a new one; its password goes into the store as a salted hash only."""
    sent = call.read(User, "VXUser")
    principals = call.tables.principals
    if not sent.name.strip():
        raise refuse_because("INVALID_INPUT_DATA", "Please provide a valid username.")
    if principals.user(sent.name) is not None:
        raise refuse_because("ERROR_DUPLICATE_OBJECT", f"{sent.name} already exists")
    if not is_strong(sent.password):
        raise refuse_because("INVALID_PASSWORD", "serverMsg.xuserMgrValidatePassword", field=_WEAK)
    roles = [role for role in sent.user_role_list if role] or ["ROLE_USER"]
    user = msgspec.structs.replace(sent, password="", user_role_list=roles, group_id_list=[])
    principals.insert_user(user, hash_password(sent.password), call.caller.shown_name, call.now)
    stored = _user(call, user.name)
    for group in principals.groups():
        if group.id in sent.group_id_list:
            principals.add_member(group.id, stored.id, call.now)
    return json_answer(_user(call, user.name).answer())


def get_user_by_name(call: Call) -> Answer:
    """GET one by name; an unknown one is 400 here."""
    return json_answer(_user(call, call.path["name"]).answer())


def get_user(call: Call) -> Answer:
    """GET one by id."""
    return json_answer(_by_id(call).answer())


def list_users(call: Call) -> Answer:
    """GET those whose name contains the parameter `name`, in an envelope."""
    users = call.tables.principals.users(call.query.get("name"))
    return json_answer(envelope(call, "vXUsers", users, StoredUser.answer))


def lookup_users(call: Call) -> Answer:
    """GET the names only; the size of the part is 0 here, as on the real server."""
    users = call.tables.principals.users(call.query.get("name"))
    names = envelope(call, "vXStrings", users, lambda stored: {"value": stored.document.name})
    return json_answer(names | {"resultSize": 0})


def delete_user(call: Call) -> Answer:
    """DELETE by name; refused while a role has the user as a member. Policies keep what is left of their items."""
    return _delete(call, _user(call, call.path["name"]))


def delete_user_by_id(call: Call) -> Answer:
    """DELETE by id, the same."""
    return _delete(call, _by_id(call))


def _delete(call: Call, stored: StoredUser) -> Answer:
    name = stored.document.name
    if name == call.caller.name:
        raise refuse("Can Not Delete User: an administrator cannot delete their own account")
    let_go(call, "users", name)
    call.tables.principals.delete_user(stored.id, call.now)
    return empty(204)


def _user(call: Call, name: str) -> StoredUser:
    return found(call.tables.principals.user(name), unknown(name))


def _by_id(call: Call) -> StoredUser:
    return found(call.tables.principals.user_by_id(call.path_id()), unknown(call.path["id"]))
