"""Answers per kind of account and endpoint, as a real Ranger Admin 2.9.0 gave them (ranger-rest.md §7)."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.testing.admin.caller import DOWNLOAD, V2, Caller, download, policy

ACCOUNTS: Final = {"administrator": "admin", "service administrator": "sync", "plugin": "plugin", "user": "bob"}
# path, with the caller's own name as {own}; status for an administrator, a service administrator, a plugin, a user
ANSWERS: Final = [
    (f"{V2}/service", 200, 403, 403, 403),
    (f"{V2}/service?serviceName=cdapdev", 200, 403, 403, 403),
    (f"{V2}/service/1", 200, 403, 403, 403),
    (f"{V2}/service/99", 400, 403, 403, 403),
    (f"{V2}/service/name/cdapdev", 200, 403, 403, 403),
    (f"{V2}/service/name/nosuch", 404, 403, 403, 403),
    (f"{V2}/service/cdapdev/policy", 200, 200, 200, 200),
    (f"{V2}/servicedef/name/cdap", 200, 200, 200, 200),
    ("/service/plugins/definitions/name/cdap", 200, 200, 200, 200),
    ("/service/plugins/definitions/name/nosuch", 404, 404, 404, 404),
    ("/service/plugins/services/name/cdapdev", 200, 200, 200, 200),
    ("/service/plugins/services/name/nosuch", 404, 404, 404, 404),
    (f"{V2}/zones", 200, 200, 200, 200),
    ("/service/xusers/groups", 200, 200, 200, 200),
    ("/service/xusers/groupusers", 200, 200, 200, 200),
    ("/service/xusers/lookup/groups?name=devs", 200, 200, 200, 200),
    ("/service/xusers/lookup/users?name=alice", 200, 200, 200, 200),
    ("/service/xusers/users", 200, 200, 200, 200),
    ("/service/xusers/users?name={own}", 200, 200, 200, 200),
    ("/service/xusers/users?name=alice", 200, 403, 403, 403),
    ("/service/xusers/users/userName/{own}", 200, 200, 200, 200),
    ("/service/xusers/users/userName/alice", 200, 403, 403, 403),
    ("/service/tags/types", 200, 403, 403, 403),
    (f"{V2}/plugins/info", 200, 403, 403, 403),
]


@pytest.mark.parametrize(("path", "statuses"), [(row[0], row[1:]) for row in ANSWERS], ids=[row[0] for row in ANSWERS])
def test_an_endpoint_answers_each_kind_of_account_as_ranger_does(
    shared: Caller, path: str, statuses: tuple[int, ...]
) -> None:
    answered = {kind: shared.as_user(name)("GET", path.format(own=name))[0] for kind, name in ACCOUNTS.items()}
    assert answered == dict(zip(ACCOUNTS, statuses, strict=True))


def names(answer: Any) -> list[str]:
    return [row["name"] for row in answer]


def test_only_administrators_of_the_service_list_its_policies(cdapdev: Caller) -> None:
    assert cdapdev("POST", f"{V2}/policy", policy())[0] == 200
    listed = {
        kind: names(cdapdev.as_user(name)("GET", f"{V2}/service/cdapdev/policy")[1]) for kind, name in ACCOUNTS.items()
    }
    assert listed == {"administrator": ["p"], "service administrator": ["p"], "plugin": [], "user": []}


HIDDEN_FROM_USERS: Final = {
    *("configs", "description", "createdBy", "updatedBy", "createTime", "updateTime", "version"),
    *("policyVersion", "policyUpdateTime", "tagVersion", "tagUpdateTime"),
}


def test_only_ranger_administrators_see_the_settings_of_a_service(shared: Caller) -> None:
    path = "/service/plugins/services/name/cdapdev"
    whole = shared("GET", path)[1]
    assert whole == shared("GET", f"{V2}/service/name/cdapdev")[1]
    assert "service.admin.users" in whole["configs"]
    for name in ("sync", "plugin", "bob"):
        seen = shared.as_user(name)("GET", path)[1]
        assert seen == {key: value for key, value in whole.items() if key not in HIDDEN_FROM_USERS}


def test_users_see_of_users_and_groups_only_their_own(cdapdev: Caller) -> None:
    for group, member in (("devs", "alice"), ("ops", "bob")):
        assert cdapdev("POST", "/service/xusers/secure/groups", {"name": group})[0] == 200
        user = cdapdev("GET", f"/service/xusers/users/userName/{member}")[1]
        assert cdapdev("POST", "/service/xusers/groupusers", {"name": group, "userId": user["id"]})[0] == 200

    bob = cdapdev.as_user("bob")
    assert names(bob("GET", "/service/xusers/users")[1]["vXUsers"]) == ["bob"]
    assert names(bob("GET", "/service/xusers/groups")[1]["vXGroups"]) == ["ops"]
    assert names(bob("GET", "/service/xusers/groupusers")[1]["vXGroupUsers"]) == ["ops"]
    assert bob("GET", "/service/xusers/users/userName/bob")[1]["groupNameList"] == ["ops"]
    assert {"devs", "ops"} <= set(names(cdapdev("GET", "/service/xusers/groups")[1]["vXGroups"]))
    for kind, found in (("groups?name=DEV", ["devs"]), ("users?name=alice", ["alice"]), ("users?name=none", [])):
        assert [row["value"] for row in bob("GET", f"/service/xusers/lookup/{kind}")[1].get("vXStrings", [])] == found


def test_an_administrator_lists_the_types_of_tags_in_use(cdapdev: Caller) -> None:
    upload = {
        "op": "add_or_update",
        "serviceName": "cdapdev",
        "tagDefinitions": {"1": {"id": 1, "name": "PII"}},
        "tags": {"1": {"id": 1, "type": "PII"}},
        "serviceResources": [{"id": 1, "resourceElements": {"instance": {"values": ["cdap"]}}}],
        "resourceToTagIds": {"1": [1]},
    }
    assert cdapdev("GET", "/service/tags/types") == (200, [])
    assert cdapdev("PUT", f"{V2}/service/cdapdev/tags", upload)[0] == 204
    assert cdapdev("GET", "/service/tags/types") == (200, ["PII"])


def test_a_download_from_the_beginning_keeps_the_version_a_plugin_reported(cdapdev: Caller) -> None:
    version = download(cdapdev)[1]["policyVersion"]
    download(cdapdev, version)
    assert download(cdapdev)[0] == 200
    (listed,) = cdapdev("GET", f"{V2}/plugins/info")[1]
    assert listed["info"]["policyActiveVersion"] == str(version)


def test_who_forwards_grants_may_download_policies_and_no_roles(cdapdev: Caller) -> None:
    service = cdapdev("GET", f"{V2}/service/name/cdapdev")[1]
    configs = service["configs"] | {"policy.grantrevoke.auth.users": "bob"}
    assert cdapdev("PUT", f"{V2}/service/{service['id']}", service | {"configs": configs})[0] == 200
    bob = cdapdev.as_user("bob")
    assert bob("GET", f"{DOWNLOAD}/cdapdev")[0] == 200
    for path in ("roles", "tags", "xusers"):
        assert bob("GET", f"/service/{path}/secure/download/cdapdev")[0] == 403
