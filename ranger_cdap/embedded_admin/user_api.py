"""The handlers of users."""

from __future__ import annotations

from typing import Any

import msgspec

from ranger_cdap.embedded_admin.answers import Answer, Refusal, empty, json_answer, refuse, refuse_because
from ranger_cdap.embedded_admin.call import Call
from ranger_cdap.embedded_admin.documents import User
from ranger_cdap.embedded_admin.passwords import hash_password, is_strong
from ranger_cdap.embedded_admin.principals_in_use import forget_in_policies, roles_with
from ranger_cdap.embedded_admin.records import StoredUser

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
    return envelope(call, "vXUsers", call.tables.principals.users(call.query.get("name")))


def lookup_users(call: Call) -> Answer:
    """GET the names only."""
    found = call.tables.principals.users(call.query.get("name"))
    rows = [{"value": stored.document.name} for stored in call.page().of(found)]
    return json_answer(_frame(call, len(found), 0) | {"vXStrings": rows})


def delete_user(call: Call) -> Answer:
    """DELETE by name; refused while a role has the user as a member. Policies keep what is left of their items."""
    return _delete(call, _user(call, call.path["name"]))


def delete_user_by_id(call: Call) -> Answer:
    """DELETE by id, the same."""
    return _delete(call, _by_id(call))


def _delete(call: Call, stored: StoredUser) -> Answer:
    name = stored.document.name
    if roles := roles_with(call, "users", name):
        raise refuse(f"Can Not Delete User: '{name}' as its present in Roles : {', '.join(roles)}")
    if name == call.caller.name:
        raise refuse("Can Not Delete User: an administrator can't delete himself")
    forget_in_policies(call, "users", name)
    call.tables.principals.delete_user(stored.id, call.now)
    return empty(204)


def _user(call: Call, name: str) -> StoredUser:
    stored = call.tables.principals.user(name)
    if stored is None:
        raise unknown(name)
    return stored


def _by_id(call: Call) -> StoredUser:
    stored = call.tables.principals.user_by_id(call.path_id())
    if stored is None:
        raise unknown(str(call.path_id()))
    return stored


def unknown(name: str) -> Refusal:
    """400 of a user or group that does not exist."""
    return refuse_because("DATA_NOT_FOUND", f"{name} is Not Found")


def _frame(call: Call, total: int, size: int) -> dict[str, Any]:
    page = call.page()
    return {
        "startIndex": page.start,
        "pageSize": page.size,
        "totalCount": total,
        "resultSize": size,
        "sortType": "asc",
        "sortBy": "id",
        "queryTimeMS": call.now,
    }


def envelope(call: Call, name: str, found: list[Any]) -> Answer:
    """The wanted part of what was found, with the total count."""
    page = [stored.answer() for stored in call.page().of(found)]
    return json_answer(_frame(call, len(found), len(page)) | {name: page})
