"""Who may do what over HTTP: rights, grants, and passwords."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.testing.admin.caller import DOWNLOAD, PASSWORD, V2, Caller, download, policy


def names(answer: Any) -> list[str]:
    return [row["name"] for row in answer]


RIGHTS = [
    # caller, method, path, body, status
    (None, "GET", f"{V2}/service", None, 401),
    ("bob", "GET", f"{V2}/servicedef/name/cdap", None, 200),
    ("bob", "POST", f"{V2}/servicedef", {"name": "x"}, 403),
    ("bob", "POST", f"{V2}/service", {"name": "x", "type": "cdap"}, 403),
    ("bob", "GET", f"{V2}/service/name/cdapdev", None, 403),
    ("bob", "GET", f"{V2}/service/name/nosuch", None, 403),
    ("bob", "DELETE", f"{V2}/service/name/cdapdev", None, 403),
    ("bob", "POST", f"{V2}/policy", policy("q", "ns2"), 403),
    ("bob", "PUT", f"{V2}/service/cdapdev/policy/p", policy(), 403),
    ("bob", "GET", f"{V2}/service/cdapdev/policy/p", None, 403),
    ("bob", "DELETE", f"{V2}/policy?servicename=cdapdev&policyname=p", None, 403),
    ("bob", "POST", "/service/xusers/secure/users", {"name": "z", "password": PASSWORD}, 403),
    ("bob", "GET", f"{DOWNLOAD}/cdapdev", None, 403),
    ("bob", "GET", "/service/roles/secure/download/cdapdev", None, 403),
    ("bob", "GET", "/service/tags/secure/download/cdapdev", None, 403),
    ("bob", "GET", "/service/xusers/secure/download/cdapdev", None, 403),
    ("plugin", "GET", f"{DOWNLOAD}/cdapdev", None, 200),
    ("plugin", "GET", "/service/roles/secure/download/cdapdev", None, 200),
    ("plugin", "GET", "/service/tags/secure/download/cdapdev", None, 200),
    ("plugin", "GET", "/service/xusers/secure/download/cdapdev", None, 200),
    ("plugin", "POST", f"{V2}/policy", policy("q", "ns2"), 403),
    ("sync", "GET", f"{DOWNLOAD}/cdapdev", None, 200),
    ("sync", "GET", "/service/tags/secure/download/cdapdev", None, 403),
    ("sync", "GET", "/service/xusers/secure/download/cdapdev", None, 403),
    ("sync", "POST", f"{V2}/policy", policy("q", "ns2"), 200),
    ("sync", "POST", f"{V2}/policy?createPrincipalsIfAbsent=true", policy("r", "ns3", user="ghost"), 400),
    ("sync", "GET", f"{V2}/service/cdapdev/policy/p", None, 200),
    ("sync", "POST", f"{V2}/service", {"name": "x", "type": "cdap"}, 403),
    ("sync", "DELETE", f"{V2}/service/name/cdapdev", None, 403),
    ("sync", "POST", "/service/xusers/secure/users", {"name": "z", "password": PASSWORD}, 403),
    ("admin", "POST", f"{V2}/policy?createPrincipalsIfAbsent=true", policy("r", "ns3", user="ghost"), 200),
]


def test_each_account_may_do_what_its_rights_say_and_no_more(cdapdev: Caller) -> None:
    assert cdapdev("POST", f"{V2}/policy", policy())[0] == 200
    for user, method, path, body, status in RIGHTS:
        assert (user, method, path, cdapdev.as_user(user)(method, path, body)[0]) == (user, method, path, status)
    for user, listed in (("bob", []), ("plugin", []), ("sync", ["p", "q", "r"])):
        assert names(cdapdev.as_user(user)("GET", f"{V2}/service/cdapdev/policy")[1]) == listed
        assert names(cdapdev.as_user(user)("GET", f"{V2}/policy")[1]) == listed


def test_a_service_admin_has_no_rights_in_another_service(cdapdev: Caller) -> None:
    cdapdev("POST", f"{V2}/service", {"name": "other", "type": "cdap"})
    assert cdapdev("POST", f"{V2}/policy", policy() | {"service": "other"})[0] == 200
    sync = cdapdev.as_user("sync")
    assert sync("POST", f"{V2}/policy", policy("q", "ns2") | {"service": "other"})[0] == 403
    assert sync("GET", f"{V2}/service/other/policy") == (200, [])
    assert sync("GET", f"{DOWNLOAD}/other")[0] == 403


def test_a_policy_is_not_moved_to_another_service_by_a_change(cdapdev: Caller) -> None:
    cdapdev("POST", f"{V2}/service", {"name": "other", "type": "cdap"})
    _, made = cdapdev("POST", f"{V2}/policy", policy())
    status, answer = cdapdev("PUT", f"{V2}/policy/{made['id']}", policy() | {"service": "other"})
    assert (status, "error code[3027]" in answer["msgDesc"]) == (400, True)


def grant(grantor: str, *types: str, user: str = "alice", **more: Any) -> dict[str, Any]:
    resource = {"instance": "cdap", "namespace": "ns1"}
    return {"grantor": grantor, "resource": resource, "users": [user], "accessTypes": list(types), **more}


GRANTS = [
    # caller, what, body, status
    ("bob", "grant", grant("bob", "read"), 403),
    ("bob", "grant", grant("admin", "read"), 403),
    ("bob", "grant", grant("bob", "read", ownerUser="bob"), 403),
    ("plugin", "grant", grant("admin", "read"), 403),
    ("sync", "grant", grant("sync", "read", user="bob", delegateAdmin=True), 200),
    ("bob", "grant", grant("bob", "write"), 403),
    ("bob", "grant", grant("bob", "read"), 200),
    ("bob", "revoke", grant("bob", "write"), 403),
    ("bob", "revoke", grant("bob", "read"), 200),
    ("sync", "grant", grant("alice", "read", user="bob"), 403),
    ("sync", "grant", grant("sync", "fly"), 400),
    ("sync", "grant", grant("sync", "read", zoneName="z"), 400),
]


def test_who_may_grant_and_what(cdapdev: Caller) -> None:
    for user, what, body, status in GRANTS:
        path = f"/service/plugins/secure/services/{what}/cdapdev"
        assert (user, what, body, cdapdev.as_user(user)("POST", path, body)[0]) == (user, what, body, status)
    (left,) = download(cdapdev)[1]["policies"]
    assert left["policyItems"] == [
        {"accesses": [{"type": "read", "isAllowed": True}], "users": ["bob"], "delegateAdmin": True}
    ]
    assert left["version"] == 3


# Passwords


def test_five_wrong_passwords_lock_the_right_one_out_and_nobody_else(cdapdev: Caller) -> None:
    path = f"{V2}/servicedef/name/cdap"
    for _ in range(4):
        assert cdapdev.as_user("bob", "wrong")("GET", path)[0] == 401
    assert cdapdev.as_user("bob")("GET", path)[0] == 200
    for _ in range(5):
        assert cdapdev.as_user("bob", "wrong")("GET", path)[0] == 401
    assert cdapdev.as_user("bob")("GET", path)[0] == 401
    assert cdapdev.as_user("alice")("GET", path)[0] == 200


def test_no_password_is_ever_answered(cdapdev: Caller) -> None:
    configs = {"password": "hunter2-hunter2", "cdap.instance.url": "http://127.0.0.1:11015"}
    cdapdev("POST", f"{V2}/service", {"name": "other", "type": "cdap", "configs": configs})
    for path in (f"{V2}/service", "/service/xusers/users", "/service/xusers/users/userName/alice", f"{DOWNLOAD}/other"):
        answer = cdapdev("GET", path)[1]
        text = json.dumps(answer)
        assert "hunter2" not in text
        assert PASSWORD not in text
        if isinstance(answer, dict):
            answer.pop("serviceDef", None)  # its patterns of names have the sign that every hash has
        assert "$" not in json.dumps(answer).replace("$schema", "")


def test_the_built_in_users_cannot_sign_in(admin: Caller) -> None:
    for user in ("rangerusersync", "rangertagsync", "keyadmin", "{USER}", "{OWNER}"):
        for password in ("", user, "admin", PASSWORD):
            assert admin.as_user(user, password)("GET", f"{V2}/service")[0] == 401


# The lists of a service

LISTED = [
    # the list, and whether it names bob
    ("bob", True),
    ("alice,bob", True),
    ("alice, bob", False),
    ("bob ,alice", False),
    ("bobby", False),
    ("*", True),
    ("alice,*", True),
    ("", False),
]


@pytest.mark.parametrize(("text", "named"), LISTED)
def test_a_list_is_split_at_commas_only_and_a_star_names_everyone(cdapdev: Caller, text: str, named: bool) -> None:
    lists = ("policy.download.auth.users", "tag.download.auth.users", "userstore.download.auth.users")
    service = cdapdev("GET", f"{V2}/service/name/cdapdev")[1]
    changed = service | {"configs": service["configs"] | dict.fromkeys(lists, text)}
    assert cdapdev("PUT", f"{V2}/service/{service['id']}", changed)[0] == 200
    bob = cdapdev.as_user("bob")
    for path in ("plugins/secure/policies/download", "tags/secure/download", "xusers/secure/download"):
        assert (path, bob("GET", f"/service/{path}/cdapdev")[0]) == (path, 200 if named else 403)


@pytest.mark.parametrize(
    ("users", "groups", "administers"),
    [
        ("bob", "", True),
        ("alice, bob", "", False),
        ("*", "", False),
        ("", "devs,ops", True),
        ("", "devs, ops", False),
    ],
)
def test_administrators_of_a_service_are_named_exactly(
    cdapdev: Caller, users: str, groups: str, administers: bool
) -> None:
    bob = cdapdev("GET", "/service/xusers/users/userName/bob")[1]
    assert cdapdev("POST", "/service/xusers/secure/groups", {"name": "ops"})[0] == 200
    assert cdapdev("POST", "/service/xusers/groupusers", {"name": "ops", "userId": bob["id"]})[0] == 200
    assert cdapdev("POST", f"{V2}/policy", policy())[0] == 200
    service = cdapdev("GET", f"{V2}/service/name/cdapdev")[1]
    lists = {"service.admin.users": users, "service.admin.groups": groups}
    assert cdapdev("PUT", f"{V2}/service/{service['id']}", service | {"configs": service["configs"] | lists})[0] == 200
    assert bool(cdapdev.as_user("bob")("GET", f"{V2}/service/cdapdev/policy")[1]) is administers
