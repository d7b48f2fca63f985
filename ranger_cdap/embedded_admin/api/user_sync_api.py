"""Handlers of users and groups that come from a directory, as Ranger's user synchronization sends them."""

from __future__ import annotations

import msgspec

from ranger_cdap.embedded_admin.api.admin_call import AdminCall
from ranger_cdap.embedded_admin.model.documents import GroupChanges, GroupList, User, UserList
from ranger_cdap.embedded_admin.model.responses import ServerResponse, empty, json_response, refuse_because

_EXTERNAL = 1


def create_external_user(call: AdminCall) -> ServerResponse:
    """POST a user without a password: 204 without a body if they are new, else the user."""
    name = call.read(User, "VXUser").name
    if not _is_name(name):
        raise refuse_because("INVALID_INPUT_DATA", "Please provide a valid username.")
    known = call.tables.principals.user(name)
    if known is not None:
        return json_response(known.to_json())
    _insert(call, User(name=name, first_name=name))
    return empty(204)


def sync_users(call: AdminCall) -> ServerResponse:
    """POST users; new ones are created without a password, known ones stay. The answer counts both."""
    users = [user for user in call.read(UserList, "VXUserList").users if _is_name(user.name, user.first_name)]
    for user in users:
        if call.tables.principals.user(user.name) is None:
            _insert(call, user)
    return json_response(len(users))


def sync_groups(call: AdminCall) -> ServerResponse:
    """POST groups; new ones are created. The answer counts all that were sent."""
    groups = call.read(GroupList, "VXGroupList").groups
    for group in groups:
        if _is_name(group.name) and call.tables.principals.group(group.name) is None:
            call.tables.principals.insert_group(group, call.caller.shown_name, call.now)
    return json_response(len(groups))


def sync_members(call: AdminCall) -> ServerResponse:
    """POST changes of memberships; unknown groups and users are ignored. The answer counts the groups named."""
    changed = 0
    principals = call.tables.principals
    for sent in call.read(list[GroupChanges], "GroupUserInfo"):
        group = principals.group(sent.group_name)
        if group is None or not (sent.add_users or sent.del_users):
            continue
        changed += 1
        for user in filter(None, map(principals.user, sent.add_users)):
            principals.add_member(group.id, user.id, call.now)
        gone = {user.id for user in map(principals.user, sent.del_users) if user is not None}
        for member in principals.members(sent.group_name):
            if member.user_id in gone:
                principals.delete_member(member.id, call.now)
    return json_response(changed)


def list_members(call: AdminCall) -> ServerResponse:
    """GET the users of each group that has any."""
    members: dict[str, list[str]] = {}
    for user in call.tables.principals.users():
        for _, group in user.groups:
            members.setdefault(group, []).append(user.document.name)
    return json_response(members)


def _insert(call: AdminCall, user: User) -> None:
    roles = [role for role in user.user_role_list if role] or ["ROLE_USER"]
    new = msgspec.structs.replace(user, password="", user_role_list=roles, group_id_list=[], user_source=_EXTERNAL)
    call.tables.principals.insert_user(new, None, call.caller.shown_name, call.now)


def _is_name(*texts: str) -> bool:
    return all(text.strip() and text.lower() != "null" for text in texts)
