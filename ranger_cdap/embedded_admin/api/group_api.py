"""The handlers of groups and memberships."""

from __future__ import annotations

from ranger_cdap.embedded_admin.api.call import Call
from ranger_cdap.embedded_admin.api.envelope import envelope
from ranger_cdap.embedded_admin.api.principals_in_use import let_go
from ranger_cdap.embedded_admin.model.answers import (
    Answer,
    empty,
    found,
    json_answer,
    not_found_by_id,
    refuse_because,
    unknown,
)
from ranger_cdap.embedded_admin.model.documents import Group, GroupUser
from ranger_cdap.embedded_admin.store.records import StoredGroup, StoredMember, dates


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
    groups = [group for group in call.tables.principals.groups() if part in group.document.name.lower()]
    return json_answer(envelope(call, "vXGroups", groups, StoredGroup.answer))


def add_group_user(call: Call) -> Answer:
    """POST a membership; the same again answers the same."""
    sent = call.read(GroupUser, "VXGroupUser")
    group = _group(call, sent.name)
    user = found(call.tables.principals.user_by_id(sent.user_id), unknown(str(sent.user_id)))
    member_id, create_time = call.tables.principals.add_member(group.id, user.id, call.now)
    fields = dates(create_time, call.caller.shown_name)
    return json_answer({"id": member_id, **fields, "name": sent.name, "parentGroupId": group.id, "userId": user.id})


def get_group(call: Call) -> Answer:
    """GET one by id."""
    return json_answer(_by_id(call).answer())


def delete_group(call: Call) -> Answer:
    """DELETE by name; refused while a role has the group as a member. Policies keep what is left of their items."""
    return _delete(call, _group(call, call.path["name"]))


def delete_group_by_id(call: Call) -> Answer:
    """DELETE by id, the same."""
    return _delete(call, _by_id(call))


def list_group_users(call: Call) -> Answer:
    """GET all memberships, in an envelope."""
    return json_answer(envelope(call, "vXGroupUsers", call.tables.principals.members(), StoredMember.answer))


def get_group_users(call: Call) -> Answer:
    """GET a group with the users in it."""
    group, principals = _group(call, call.path["name"]), call.tables.principals
    users = [principals.user_by_id(member.user_id) for member in principals.members(group.document.name)]
    return json_answer({"xgroupInfo": group.answer(), "xuserInfo": [user.answer() for user in users if user]})


def delete_group_user(call: Call) -> Answer:
    """DELETE a membership by id."""
    if not call.tables.principals.delete_member(call.path_id(), call.now):
        raise not_found_by_id(call.path_id())
    return empty(204)


def _delete(call: Call, stored: StoredGroup) -> Answer:
    let_go(call, "groups", stored.document.name)
    call.tables.principals.delete_group(stored.id, call.now)
    return empty(204)


def _group(call: Call, name: str) -> StoredGroup:
    return found(call.tables.principals.group(name), unknown(name))


def _by_id(call: Call) -> StoredGroup:
    return found(call.tables.principals.group_by_id(call.path_id()), unknown(call.path["id"]))
