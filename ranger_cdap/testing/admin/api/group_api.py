"""Handlers of groups and memberships."""

from __future__ import annotations

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.envelope import envelope, name_list
from ranger_cdap.testing.admin.api.principals_in_use import remove_from_policies
from ranger_cdap.testing.admin.model.documents import Group, GroupUser
from ranger_cdap.testing.admin.model.responses import (
    ServerResponse,
    found,
    json_response,
    not_found_by_id,
    refuse_because,
    unknown,
)
from ranger_cdap.testing.admin.store.records import StoredGroup, StoredMember, dates


def create_group(call: AdminCall) -> ServerResponse:
    """POST a new one."""
    sent = call.read(Group, "VXGroup")
    principals = call.tables.principals
    if not sent.name.strip():
        raise refuse_because("INVALID_INPUT_DATA", "Please provide a valid group name.")
    if principals.groups.by_name(sent.name) is not None:
        raise refuse_because("ERROR_DUPLICATE_OBJECT", f"{sent.name} already exists")
    principals.insert_group(sent, call.caller.shown_name, call.now)
    return json_response(_group(call, sent.name).to_json())


def list_groups(call: AdminCall) -> ServerResponse:
    """GET those whose name contains the parameter `name`, in an envelope; others than administrators get their own."""
    own = {member.group_id for member in _visible_members(call)}
    named = call.tables.principals.groups.all(call.query.get("name"))
    groups = [group for group in named if call.caller.is_admin or group.id in own]
    return json_response(envelope(call, "vXGroups", groups, StoredGroup.to_json))


def look_up_groups(call: AdminCall) -> ServerResponse:
    """GET the names that contain the parameter `name`; any user may."""
    return name_list(call, call.tables.principals.groups.all(call.query.get("name")))


def add_group_user(call: AdminCall) -> ServerResponse:
    """POST a membership; idempotent."""
    sent = call.read(GroupUser, "VXGroupUser")
    group = _group(call, sent.name)
    user = found(call.tables.principals.users.by_id(sent.user_id), unknown(str(sent.user_id)))
    member_id, create_time = call.tables.principals.add_member(group.id, user.id, call.now)
    fields = dates(create_time, call.caller.shown_name)
    return json_response({"id": member_id, **fields, "name": sent.name, "parentGroupId": group.id, "userId": user.id})


def get_group(call: AdminCall) -> ServerResponse:
    """GET one by id or name; an unknown one is 400 here."""
    return json_response(call.of_path(call.tables.principals.groups, unknown).to_json())


def delete_group(call: AdminCall) -> ServerResponse:
    """DELETE by id or name; refused while a role has the group as a member. Policies keep the rest of their items."""
    stored = call.of_path(call.tables.principals.groups, unknown)
    remove_from_policies(call, "groups", stored.document.name)
    call.tables.principals.groups.delete(stored.id, call.now)
    return ServerResponse(204)


def list_group_users(call: AdminCall) -> ServerResponse:
    """GET all memberships, in an envelope; others than administrators get their own."""
    return json_response(envelope(call, "vXGroupUsers", _visible_members(call), StoredMember.to_json))


def get_group_users(call: AdminCall) -> ServerResponse:
    """GET a group with the users in it."""
    group, principals = _group(call, call.path["name"]), call.tables.principals
    users = [principals.users.by_id(member.user_id) for member in principals.members(group.document.name)]
    return json_response({"xgroupInfo": group.to_json(), "xuserInfo": [user.to_json() for user in users if user]})


def delete_group_user(call: AdminCall) -> ServerResponse:
    """DELETE a membership by id."""
    if not call.tables.principals.delete_member(call.path_id(), call.now):
        raise not_found_by_id(call.path_id())
    return ServerResponse(204)


def _visible_members(call: AdminCall) -> list[StoredMember]:
    members, user = call.tables.principals.members(), call.tables.principals.users.by_name(call.caller.name)
    return [member for member in members if call.caller.is_admin or (user and member.user_id == user.id)]


def _group(call: AdminCall, name: str) -> StoredGroup:
    return found(call.tables.principals.groups.by_name(name), unknown(name))
