"""Grants and revokes of roles: who may, and what becomes of the members."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.admin.caller import V2, Caller, download, policy


def make(admin: Caller, name: str, **members: dict[str, bool]) -> None:
    """A role with members by kind; the flag makes one an admin of the role."""
    rows = {
        kind: [{"name": member, "isAdmin": flag} for member, flag in named.items()] for kind, named in members.items()
    }
    assert admin("POST", f"{V2}/roles", {"name": name, **rows})[0] == 200


def change(caller: Caller, what: str, role: str, **request: Any) -> tuple[int, Any]:
    return caller("PUT", f"{V2}/roles/{what}/cdapdev", {"targetRoles": [role], **request})


def members(admin: Caller, name: str, kind: str = "users") -> dict[str, bool]:
    return {row["name"]: row["isAdmin"] for row in admin("GET", f"{V2}/roles/name/{name}")[1].get(kind, [])}


DONE = (200, {"httpStatusCode": 0, "statusCode": 0})
CHANGES = [
    ("a new member", "grant", {"users": ["bob"]}, {"alice": True, "plugin": False, "bob": False}),
    ("a new admin", "grant", {"users": ["bob"], "grantOption": True}, {"alice": True, "plugin": False, "bob": True}),
    ("a member becomes admin", "grant", {"users": ["plugin"], "grantOption": True}, {"alice": True, "plugin": True}),
    ("an admin stays admin", "grant", {"users": ["alice"]}, {"alice": True, "plugin": False}),
    ("nobody", "grant", {}, {"alice": True, "plugin": False}),
    ("a member leaves", "revoke", {"users": ["plugin"]}, {"alice": True}),
    ("an admin leaves", "revoke", {"users": ["alice"]}, {"plugin": False}),
    ("only the admin's right", "revoke", {"users": ["alice"], "grantOption": True}, {"alice": False, "plugin": False}),
    ("one who is not there", "revoke", {"users": ["bob"]}, {"alice": True, "plugin": False}),
]


@pytest.mark.parametrize(("what", "request_", "after"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_members_after_a_change(cdapdev: Caller, what: str, request_: dict[str, Any], after: dict[str, bool]) -> None:
    make(cdapdev, "devs", users={"alice": True, "plugin": False})
    assert change(cdapdev, what, "devs", grantor="admin", **request_) == DONE
    assert members(cdapdev, "devs") == after


def test_groups_and_roles_are_members_too(cdapdev: Caller) -> None:
    cdapdev("POST", "/service/xusers/secure/groups", {"name": "crew"})
    make(cdapdev, "devs")
    make(cdapdev, "ops")
    assert change(cdapdev, "grant", "devs", grantor="admin", groups=["crew"], roles=["ops"]) == DONE
    assert (members(cdapdev, "devs", "groups"), members(cdapdev, "devs", "roles")) == ({"crew": False}, {"ops": False})
    assert change(cdapdev, "grant", "ops", grantor="admin", roles=["devs"])[0] == 400
    assert members(cdapdev, "ops", "roles") == {}


WHO_MAY = [
    # caller, grantor, may; alice is an admin of the role, bob a member, sync an administrator of the service
    ("admin", "admin", True),
    ("admin", None, True),
    ("admin", "alice", True),
    ("admin", "bob", False),
    ("admin", "nobody", False),
    ("alice", "alice", True),
    ("alice", None, True),
    ("alice", "admin", False),
    ("bob", "bob", False),
    ("bob", "alice", False),
    ("plugin", "alice", False),
    ("sync", "alice", True),
    ("sync", "bob", False),
    ("sync", None, True),
    ("admin", "sync", True),
    ("alice", "sync", False),
]


@pytest.mark.parametrize("what", ["grant", "revoke"])
@pytest.mark.parametrize(("caller", "grantor", "may"), WHO_MAY)
def test_who_may_and_for_whom(shared: Caller, what: str, caller: str, grantor: str | None, may: bool) -> None:
    shared("POST", f"{V2}/roles", {"name": "devs"})
    role = shared("GET", f"{V2}/roles/name/devs")[1]
    before = {"alice": True, "bob": False}
    rows = [{"name": name, "isAdmin": flag} for name, flag in before.items()]
    shared("PUT", f"{V2}/roles/{role['id']}", {"name": "devs", "users": rows})
    request = {"users": ["plugin" if what == "grant" else "bob"], **({"grantor": grantor} if grantor else {})}
    answer = change(shared.as_user(caller), what, "devs", **request)
    if may:
        assert answer == DONE
        assert members(shared, "devs") == ({**before, "plugin": False} if what == "grant" else {"alice": True})
    else:
        assert answer == (400, {"statusCode": 1, "msgDesc": f"User doesn't have permissions to {what} role devs"})
        assert members(shared, "devs") == before


def test_an_admin_of_a_role_may_be_so_by_a_group_or_a_role_but_not_by_one_he_claims(cdapdev: Caller) -> None:
    user = cdapdev("GET", "/service/xusers/users/userName/alice")[1]
    cdapdev("POST", "/service/xusers/secure/groups", {"name": "crew"})
    cdapdev("POST", "/service/xusers/groupusers", {"name": "crew", "userId": user["id"]})
    make(cdapdev, "leads", users={"bob": False})
    make(cdapdev, "devs", groups={"crew": True}, roles={"leads": True})
    for name in ("alice", "bob"):
        assert change(cdapdev.as_user(name), "grant", "devs", users=[name]) == DONE
    claimed = change(cdapdev.as_user("plugin"), "grant", "devs", users=["plugin"], grantorGroups=["crew"])
    assert claimed[0] == 400
    assert members(cdapdev, "devs") == {"alice": False, "bob": False}


@pytest.mark.parametrize("what", ["grant", "revoke"])
def test_unknown_roles_and_members_are_refused_and_nothing_is_half_done(cdapdev: Caller, what: str) -> None:
    make(cdapdev, "devs")
    request = {"targetRoles": ["devs", "nosuch"], "grantor": "admin", "users": ["alice"]}
    assert cdapdev("PUT", f"{V2}/roles/{what}/cdapdev", request)[0] == 400
    assert change(cdapdev, "grant", "devs", grantor="admin", users=["ghost"])[1]["msgDesc"] == (
        "user with name: ghost does not exist "
    )
    assert members(cdapdev, "devs") == {}


def test_a_granted_role_is_in_the_next_downloads(cdapdev: Caller) -> None:
    make(cdapdev, "devs")
    cdapdev("POST", f"{V2}/policy", policy(policyItems=[{"roles": ["devs"], "accesses": [{"type": "read"}]}]))
    roles = "/service/roles/secure/download/cdapdev"
    before = cdapdev("GET", roles)[1]["roleVersion"], download(cdapdev)[1]["policyVersion"]
    change(cdapdev, "grant", "devs", grantor="admin", users=["alice"])
    after = cdapdev("GET", roles)[1]
    assert (after["roleVersion"], download(cdapdev)[1]["policyVersion"]) == (before[0] + 1, before[1] + 1)
    assert [row["users"] for row in after["rangerRoles"]] == [[{"name": "alice", "isAdmin": False}]]


def test_a_service_administrator_makes_roles_of_users_there_are(cdapdev: Caller) -> None:
    sync, path = cdapdev.as_user("sync"), f"{V2}/roles?serviceName=cdapdev&createNonExistUserGroup=true"
    assert sync("POST", path, {"name": "mine", "users": [{"name": "bob", "isAdmin": True}]})[0] == 200
    assert sync("POST", path, {"name": "ghosts", "users": [{"name": "ghost"}]})[0] == 400
    assert sync("POST", f"{V2}/roles", {"name": "other"})[0] == 400
    assert cdapdev.as_user("plugin")("POST", path, {"name": "other"})[0] == 400
    assert cdapdev("GET", f"{V2}/roles/names")[1] == ["mine"]


def test_an_id_in_a_new_role_is_not_taken(cdapdev: Caller) -> None:
    status, created = cdapdev("POST", f"{V2}/roles", {"name": "devs", "id": 4711})
    assert status == 200
    assert created["id"] != 4711
    assert cdapdev("GET", f"{V2}/roles/{created['id']}")[1] == created


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "roles/names", None, 200),
        ("GET", "roles/name/devs", None, 200),
        ("POST", "roles", {"name": "more"}, 200),
        ("DELETE", "roles/name/devs", None, 204),
    ],
)
def test_a_service_administrator_names_the_service(
    cdapdev: Caller, method: str, path: str, body: Any, status: int
) -> None:
    make(cdapdev, "devs")
    named, sync = f"{V2}/{path}?serviceName=cdapdev", cdapdev.as_user("sync")
    for refused in (sync(method, f"{V2}/{path}", body), cdapdev.as_user("alice")(method, named, body)):
        assert refused == (400, {"statusCode": 1, "msgDesc": "User does not have permission for this operation"})
    assert sync(method, named, body)[0] == status


def test_the_roles_of_a_user_are_those_by_name_and_group_and_those_inside(cdapdev: Caller) -> None:
    user = cdapdev("GET", "/service/xusers/users/userName/alice")[1]
    cdapdev("POST", "/service/xusers/secure/groups", {"name": "crew"})
    cdapdev("POST", "/service/xusers/groupusers", {"name": "crew", "userId": user["id"]})
    make(cdapdev, "inner")
    make(cdapdev, "direct", users={"alice": False}, roles={"inner": False})
    make(cdapdev, "grouped", groups={"crew": False})
    make(cdapdev, "around", roles={"direct": False})
    bob = cdapdev.as_user("bob")
    assert bob("GET", f"{V2}/roles/user/alice") == (200, ["direct", "grouped", "inner"])
    assert bob("GET", f"{V2}/roles/user/bob") == (200, [])
    assert bob("GET", f"{V2}/roles/user/ghost")[0] == 404
