"""The handlers of users, groups and memberships."""

from __future__ import annotations

from typing import Any

import msgspec

from ranger_cdap.embedded_admin.answers import Answer, Refusal, empty, json_answer, refuse, refuse_because
from ranger_cdap.embedded_admin.call import Call
from ranger_cdap.embedded_admin.documents import Group, GroupUser, User
from ranger_cdap.embedded_admin.passwords import hash_password, is_strong
from ranger_cdap.embedded_admin.records import StoredGroup, StoredUser, dates

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
    stored = call.tables.principals.user_by_id(call.path_id())
    if stored is None:
        raise _unknown(str(call.path_id()))
    return json_answer(stored.answer())


def list_users(call: Call) -> Answer:
    """GET those whose name contains the parameter `name`, in an envelope."""
    return _envelope(call, "vXUsers", call.tables.principals.users(call.query.get("name")))


def lookup_users(call: Call) -> Answer:
    """GET the names only."""
    found = call.tables.principals.users(call.query.get("name"))
    rows = [{"value": stored.document.name} for stored in call.page().of(found)]
    return json_answer(_frame(call, len(found), 0) | {"vXStrings": rows})


def delete_user(call: Call) -> Answer:
    """DELETE by name; refused while a role has the user as a member. Policies keep what is left of their items."""
    stored = _user(call, call.path["name"])
    name = stored.document.name
    roles = [
        role.document.name
        for role in call.tables.principals.roles()
        if name in (member.name for member in role.document.users)
    ]
    if roles:
        raise refuse(f"Can Not Delete User: '{name}' as its present in Roles : {', '.join(roles)}")
    if name == call.caller.name:
        raise refuse("Can Not Delete User: an administrator can't delete himself")
    _forget_in_policies(call, name)
    call.tables.principals.delete_user(stored.id, call.now)
    return empty(204)


def _forget_in_policies(call: Call, name: str) -> None:
    for service in call.tables.services():
        for stored in call.tables.policies(service.stamp.id):
            policy = stored.document
            touched = [item for item in policy.items() if name in item.users]
            for item in touched:
                item.users = [user for user in item.users if user != name]
            if touched:
                shown = call.caller.shown_name
                call.tables.update_policy(service, stored, policy, stored.signature, shown, call.now)
                call.tables.raise_policy_version(service.stamp.id, call.now)


def create_group(call: Call) -> Answer:
    """POST a new one."""
    sent = call.read(Group, "VXGroup")
    principals = call.tables.principals
    if not sent.name.strip():
        raise refuse_because("INVALID_INPUT_DATA", "Please provide a valid group name.")
    if principals.group(sent.name) is not None:
        raise refuse_because("ERROR_DUPLICATE_OBJECT", f"{sent.name} already exists")
    principals.insert_group(sent, call.caller.shown_name, call.now)
    return json_answer(_group(call, sent.name).answer())


def get_group_by_name(call: Call) -> Answer:
    """GET one by name; an unknown one is 400 here."""
    return json_answer(_group(call, call.path["name"]).answer())


def list_groups(call: Call) -> Answer:
    """GET those whose name contains the parameter `name`, in an envelope."""
    part = call.query.get("name", "").lower()
    found = [group for group in call.tables.principals.groups() if part in group.document.name.lower()]
    return _envelope(call, "vXGroups", found)


def add_group_user(call: Call) -> Answer:
    """POST a membership; the same again answers the same."""
    sent = call.read(GroupUser, "VXGroupUser")
    group = _group(call, sent.name)
    user = call.tables.principals.user_by_id(sent.user_id)
    if user is None:
        raise _unknown(str(sent.user_id))
    member_id, create_time = call.tables.principals.add_member(group.id, user.id, call.now)
    fields = dates(create_time, call.caller.shown_name)
    return json_answer({"id": member_id, **fields, "name": sent.name, "parentGroupId": group.id, "userId": user.id})


def _user(call: Call, name: str) -> StoredUser:
    stored = call.tables.principals.user(name)
    if stored is None:
        raise _unknown(name)
    return stored


def _group(call: Call, name: str) -> StoredGroup:
    stored = call.tables.principals.group(name)
    if stored is None:
        raise _unknown(name)
    return stored


def _unknown(name: str) -> Refusal:
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


def _envelope(call: Call, name: str, found: list[Any]) -> Answer:
    page = [stored.answer() for stored in call.page().of(found)]
    return json_answer(_frame(call, len(found), len(page)) | {name: page})
