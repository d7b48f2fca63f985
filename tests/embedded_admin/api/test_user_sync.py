"""Users and groups from a directory, and *Test connection*: request and answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.embedded_admin.caller import PASSWORD, Caller
from tests.embedded_admin.exchanges import basic, send

USERS = "/service/xusers"
VALIDATE = "/service/plugins/services/validateConfig"


def test_an_external_user_is_created_without_a_word_and_then_answered(cdapdev: Caller) -> None:
    path = f"{USERS}/users/external"
    assert cdapdev("POST", path, {"name": "dora"}) == (204, None)
    status, dora = cdapdev("POST", path, {"name": "dora"})
    assert (status, dora["name"], dora["userRoleList"]) == (200, "dora", ["ROLE_USER"])
    assert cdapdev.as_user("dora", "")("GET", f"{USERS}/users")[0] == 401
    for name in ("", " ", "null"):
        status, answer = cdapdev("POST", path, {"name": name})
        assert (status, answer["msgDesc"]) == (400, "Please provide a valid username.")


def test_users_groups_and_memberships_come_from_a_directory(cdapdev: Caller) -> None:
    users = [{"name": "dora", "firstName": "dora"}, {"name": "alice", "firstName": "A"}, {"name": "null"}]
    groups = [{"name": "team"}, {"name": "empty"}]
    exchanges: list[tuple[str, str, Any, Any]] = [
        ("POST", "users", {"vXUsers": users}, 2),
        ("POST", "users", {"vXUsers": users}, 2),
        ("POST", "groups/", {"vXGroups": groups}, 2),
        ("POST", "groupusers", [{"groupName": "team", "addUsers": ["dora", "alice", "nosuch"]}], 1),
        ("POST", "groupusers", [{"groupName": "nosuch", "addUsers": ["dora"]}, {"groupName": "team"}], 0),
        ("GET", "groupusers", None, {"team": ["alice", "dora"]}),
        ("POST", "groupusers", [{"groupName": "team", "delUsers": ["alice", "bob"]}], 1),
        ("GET", "groupusers", None, {"team": ["dora"]}),
    ]
    for method, path, body, answer in exchanges:
        status, given = plain(cdapdev, method, f"{USERS}/ugsync/{path}", body)
        assert (path, status, given) == (path, 200, answer)


def plain(caller: Caller, method: str, path: str, body: Any) -> tuple[int, Any]:
    """Status and JSON, also where that is a number."""
    headers = {"authorization": basic("admin", PASSWORD), "content-type": "application/json"}
    content = None if body is None else json.dumps(body).encode()
    status, _, answer = send(caller.url, method, path, headers=headers, body=content)
    return status, json.loads(answer)


@pytest.mark.parametrize("path", ["users/external", "ugsync/users", "ugsync/groups", "ugsync/groupusers"])
def test_only_administrators_bring_users(shared: Caller, path: str) -> None:
    assert shared.as_user("alice")("POST", f"{USERS}/{path}", {})[0] == 403


CONNECTIONS = [
    ({}, 200, "Configuration validation is not implemented for cdap"),
    ({"cdap.instance.url": "http://cdap.example.org:11015"}, 200, "not implemented for cdap"),
    ({"cdap.instance.url": "http://127.0.0.1:11015"}, 400, "cdap.instance.url: host 127.0.0.1 is not allowed"),
    ({"cdap.instance.url": "https://LOCALHOST/"}, 400, "cdap.instance.url: host localhost is not allowed"),
    ({"cdap.instance.url": "127.0.0.1:11015"}, 200, "not implemented for cdap"),
]


@pytest.mark.parametrize(("configs", "status", "said"), CONNECTIONS)
def test_a_connection_is_tested_by_no_more_than_its_address(
    shared: Caller, configs: dict[str, str], status: int, said: str
) -> None:
    got, answer = shared("POST", VALIDATE, {"name": "cdapdev", "type": "cdap", "configs": configs})
    assert (got, answer["statusCode"]) == (status, 1)
    assert said in answer["msgDesc"]


def test_only_administrators_test_connections(shared: Caller) -> None:
    assert shared.as_user("alice")("POST", VALIDATE, {"name": "cdapdev", "type": "cdap"})[0] == 403
