"""Roles by Ranger Admin's client: which requests each method makes, and what the embedded Ranger Admin answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import responses
from responses import matchers

from ranger_cdap import errors
from ranger_cdap.config import Secret
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.client.ranger_roles import RoleClient
from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.testing.admin.caller import PASSWORD, Caller, policy, prepared

URL = "https://ranger.test:6182"
API = f"{URL}/service/public/v2/api/roles"
OF_SERVICE = [matchers.query_param_matcher({"serviceName": "cdapdev"})]
NO_RIGHT = {"statusCode": 1, "msgDesc": "User does not have permission for this operation"}
DONE = {"httpStatusCode": 0, "statusCode": 0}


@pytest.fixture
def client() -> Iterator[RoleClient]:
    connection = AdminConnection(URL, username="svc", password=Secret("Passw0rd!x"))
    with responses.mock, RangerAdmin(connection) as admin:
        yield admin.roles


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    with EmbeddedAdmin(admin_password=PASSWORD) as server:
        caller = prepared(Caller(server.url))
        assert caller("POST", "/service/xusers/secure/groups", {"name": "crew"})[0] == 200
        yield caller


@pytest.fixture(params=["admin", "sync"])
def account(request: pytest.FixtureRequest, caller: Caller) -> str:
    """A Ranger administrator and an administrator of the service; no role is left from another test."""
    for name in caller("GET", "/service/public/v2/api/roles/names")[1]:
        caller("DELETE", f"/service/public/v2/api/roles/name/{name}")
    return str(request.param)


@pytest.fixture
def roles(caller: Caller, account: str) -> Iterator[RoleClient]:
    with RangerAdmin(AdminConnection(caller.url, username=account, password=Secret(PASSWORD))) as admin:
        yield admin.roles


def members(roles: RoleClient, name: str) -> dict[str, dict[str, bool]]:
    role = roles.find("cdapdev", name)
    assert role is not None
    kinds = {"users": role.users, "groups": role.groups, "roles": role.roles}
    return {kind: {one.name: one.is_admin for one in named} for kind, named in kinds.items() if named}


def test_a_role_is_created_changed_and_deleted(roles: RoleClient, account: str) -> None:
    assert roles.create("cdapdev", "inner")
    assert roles.create("cdapdev", "devs", description="of sales", users=["alice"], groups=["crew"], roles=["inner"])
    assert set(roles.names("cdapdev")) == {"devs", "inner"}
    found = roles.find("cdapdev", "devs")
    assert found is not None
    assert found.description == "of sales"
    roles.grant("cdapdev", "devs", grantor=account, users=["bob"], admin=True)
    roles.revoke("cdapdev", "devs", grantor=account, users=["alice"], groups=["crew"])
    assert members(roles, "devs") == {"users": {"bob": True}, "roles": {"inner": False}}
    roles.revoke("cdapdev", "devs", grantor=account, users=["bob"], admin=True)
    assert members(roles, "devs")["users"] == {"bob": False}
    assert set(roles.of_user("bob") or ()) == {"devs", "inner"}
    roles.delete("cdapdev", "devs")
    assert roles.find("cdapdev", "devs") is None
    assert roles.of_user("bob") == ()
    assert roles.of_user("nosuch") is None


def test_a_taken_name_is_false_and_the_role_stays_as_it_is(roles: RoleClient) -> None:
    assert roles.create("cdapdev", "devs", users=["alice"])
    assert not roles.create("cdapdev", "devs", users=["bob"])
    assert members(roles, "devs") == {"users": {"alice": False}}


CHANGES: list[Callable[[RoleClient, dict[str, list[str]]], object]] = [
    lambda roles, members: roles.create("cdapdev", "new", **members),
    lambda roles, members: roles.grant("cdapdev", "devs", grantor="admin", **members),
]


@pytest.mark.parametrize("change", CHANGES, ids=["create", "grant"])
@pytest.mark.parametrize(
    ("unknown", "named"),
    [({"users": ["ghost"]}, "user `ghost`"), ({"groups": ["g h"]}, "group `g h`"), ({"roles": ["r"]}, "role `r`")],
)
def test_an_unknown_member_is_named(
    roles: RoleClient,
    change: Callable[[RoleClient, dict[str, list[str]]], object],
    unknown: dict[str, list[str]],
    named: str,
) -> None:
    roles.create("cdapdev", "devs")
    with pytest.raises(errors.RequestRejected, match=f"Ranger has no {named}; create it in Ranger Admin"):
        change(roles, unknown)
    assert roles.names("cdapdev") == ("devs",)
    assert members(roles, "devs") == {}


def test_a_role_in_use_is_not_deleted(roles: RoleClient, caller: Caller) -> None:
    roles.create("cdapdev", "devs")
    in_use = policy("of the role", policyItems=[{"roles": ["devs"], "accesses": [{"type": "read"}]}])
    status, made = caller("POST", "/service/public/v2/api/policy", in_use)
    assert status == 200
    with pytest.raises(errors.RequestRejected, match="referenced in one or more policies"):
        roles.delete("cdapdev", "devs")
    caller("DELETE", f"/service/public/v2/api/policy/{made['id']}")
    roles.delete("cdapdev", "devs")


def test_all_roles_are_for_a_ranger_administrator(roles: RoleClient, account: str) -> None:
    roles.create("cdapdev", "devs", description="of sales", users=["alice"])
    if account == "sync":
        with pytest.raises(errors.RequestRejected, match="does not have permission"):
            roles.all()
    else:
        assert [(one.name, one.description, len(one.users)) for one in roles.all()] == [("devs", "of sales", 1)]


@pytest.mark.parametrize("cut", [1, 3, 200])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_all_pages_of_roles_are_read_however_they_are_cut(client: RoleClient, cut: int, count: int) -> None:
    there = [{"id": n, "name": f"r{n}", "description": None} for n in range(count)]

    def page(request: Any) -> tuple[int, dict[str, str], str]:
        start = int(request.params["startIndex"])
        return 200, {}, json.dumps(there[start : start + cut])

    responses.add_callback("GET", API, callback=page)
    assert [role.name for role in client.all()] == [row["name"] for row in there]


def test_a_server_that_ignores_the_page_ends_the_list_of_roles(client: RoleClient) -> None:
    responses.get(API, json=[{"name": "a"}, {"name": "b"}])
    assert [role.name for role in client.all()] == ["a", "b"]


def test_grant_and_revoke_name_the_grantor_and_one_role(client: RoleClient) -> None:
    responses.put(f"{API}/grant/cdapdev", json=DONE)
    responses.put(f"{API}/revoke/cdapdev", json=DONE)
    client.grant("cdapdev", "devs", grantor="ann", users=["bob"], groups=["crew"], roles=["ops"])
    client.revoke("cdapdev", "devs", grantor="ann", users=["bob"], admin=True)
    sent = [json.loads(call.request.body) for call in responses.calls]
    everywhere = {"grantor": "ann", "grantorGroups": [], "targetRoles": ["devs"], "users": ["bob"]}
    assert sent == [
        {**everywhere, "groups": ["crew"], "roles": ["ops"], "grantOption": False},
        {**everywhere, "groups": [], "roles": [], "grantOption": True},
    ]


def test_a_change_of_no_members_is_refused_unsent(client: RoleClient) -> None:
    for change in (client.grant, client.revoke):
        with pytest.raises(errors.InvalidInput, match="role `devs`"):
            change("cdapdev", "devs", grantor="ann")
    assert not responses.calls


@pytest.mark.parametrize("name", ["", "a/b", "..", "50%", "a;b", "a\nb"])
def test_a_role_name_that_no_path_can_carry_is_refused_unsent(client: RoleClient, name: str) -> None:
    for call in (client.find, client.delete, client.create):
        with pytest.raises(errors.InvalidInput):
            call("cdapdev", name)
    assert not responses.calls


def test_a_deletion_may_be_on_behalf_of_a_caller(client: RoleClient) -> None:
    asked = {"serviceName": "cdapdev", "execUser": "ann"}
    responses.delete(f"{API}/name/devs", status=204, match=[matchers.query_param_matcher(asked)])
    client.delete("cdapdev", "devs", caller="ann")
    responses.delete(f"{API}/name/ops", status=204, match=OF_SERVICE)
    client.delete("cdapdev", "ops")


@pytest.mark.parametrize("body", [b"", b"<html/>", b'{"a": 1}', b'[{"name": 7}]', b"[[[", b"[" * 100_000])
def test_an_answer_that_is_no_list_of_roles_is_unexpected(client: RoleClient, body: bytes) -> None:
    for path in (API, f"{API}/names", f"{API}/user/alice"):
        responses.get(path, body=body)
    for call in (client.all, lambda: client.names("cdapdev"), lambda: client.of_user("alice")):
        with pytest.raises(errors.UnexpectedAnswer):
            call()


def test_a_refused_name_list_is_an_error_and_no_missing_role(client: RoleClient) -> None:
    responses.get(f"{API}/names", status=400, json=NO_RIGHT)
    with pytest.raises(errors.RequestRejected, match="does not have permission"):
        client.find("cdapdev", "devs")
