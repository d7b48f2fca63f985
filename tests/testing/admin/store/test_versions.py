"""Versions and downloads over HTTP: what raises a version, and what a plugin gets by it."""

from __future__ import annotations

import json
from typing import Any

from servicedef import service_definition
from tests.testing.admin.caller import DOWNLOAD, V2, Caller, download, policy


def names(answer: Any) -> list[str]:
    return [row["name"] for row in answer]


def test_every_change_of_a_policy_raises_the_version_by_one_and_nothing_else_does(cdapdev: Caller) -> None:
    start = download(cdapdev)[1]["policyVersion"]
    _, made = cdapdev("POST", f"{V2}/policy", policy())
    assert download(cdapdev)[1]["policyVersion"] == start + 1
    assert cdapdev("PUT", f"{V2}/policy/{made['id']}", policy(version=99))[1]["version"] == 2
    assert cdapdev("PUT", f"{V2}/policy/{made['id']}", policy(version=1))[1]["version"] == 3
    assert download(cdapdev)[1]["policyVersion"] == start + 3
    assert cdapdev("POST", f"{V2}/policy", policy())[0] == 400
    assert cdapdev("GET", f"{V2}/policy/{made['id']}")[0] == 200
    assert download(cdapdev)[1]["policyVersion"] == start + 3
    assert cdapdev("DELETE", f"{V2}/policy/{made['id']}")[0] == 204
    assert download(cdapdev)[1]["policyVersion"] == start + 4


def test_a_plugin_that_has_the_version_gets_304_and_any_other_version_the_full_set(cdapdev: Caller) -> None:
    plugin = cdapdev.as_user("plugin")
    version = download(plugin)[1]["policyVersion"]
    assert download(plugin, version) == (304, None)
    for other in (-1, 0, version - 1, version + 1):
        assert download(plugin, other)[1]["policyVersion"] == version
    assert cdapdev("GET", f"{DOWNLOAD}/cdapdev?lastKnownVersion=abc") == (404, None)


def test_a_download_has_enabled_policies_the_whole_definition_and_the_tag_service(cdapdev: Caller) -> None:
    cdapdev("POST", f"{V2}/policy", policy("on"))
    cdapdev("POST", f"{V2}/policy", policy("off", "ns2", isEnabled=False))
    _, answer = download(cdapdev)
    assert names(answer["policies"]) == ["on"]
    assert names(answer["serviceDef"]["markerAccessTypes"]) == [
        "_CREATE",
        "_READ",
        "_UPDATE",
        "_DELETE",
        "_MANAGE",
        "_ALL",
    ]
    assert names(answer["serviceDef"]["policyConditions"]) == ["_expression"]
    tags = answer["tagPolicies"]
    assert (tags["serviceName"], tags["serviceDef"]["name"]) == ("tag", "tag")
    assert names(tags["serviceDef"]["accessTypes"]) == names(service_definition()["accessTypes"])
    (expired,) = tags["policies"]
    assert expired["name"] == "EXPIRES_ON"
    assert expired["isEnabled"]
    (item,) = expired["denyPolicyItems"]
    assert item["groups"] == ["public"]
    assert item["conditions"] == [{"type": "accessed-after-expiry", "values": ["yes"]}]
    assert {"type": "cdap:read", "isAllowed": True} in item["accesses"]


def test_a_new_definition_version_is_a_new_policy_version_of_its_services(cdapdev: Caller) -> None:
    before = download(cdapdev)[1]
    status, answer = cdapdev("PUT", f"{V2}/servicedef/name/cdap", service_definition())
    assert (status, answer["version"]) == (200, before["serviceDef"]["version"] + 1)
    assert download(cdapdev)[1]["policyVersion"] == before["policyVersion"] + 1


def test_a_change_of_tag_policies_raises_the_version_of_linked_services(cdapdev: Caller) -> None:
    before = download(cdapdev)[1]
    expires = before["tagPolicies"]["policies"][0]
    assert cdapdev("PUT", f"{V2}/policy/{expires['id']}", expires | {"isEnabled": False})[0] == 200
    after = download(cdapdev)[1]
    assert after["policyVersion"] == before["policyVersion"] + 1
    assert after["tagPolicies"]["policies"] == []


def test_a_policy_keeps_its_guid_for_life(cdapdev: Caller) -> None:
    _, made = cdapdev("POST", f"{V2}/policy", policy(guid="first"))
    assert cdapdev("PUT", f"{V2}/policy/{made['id']}", policy(guid="second"))[1]["guid"] == "first"
    status, answer = cdapdev("POST", f"{V2}/policy", policy("q", "ns2", guid="first"))
    assert (status, "duplicate key" in answer["msgDesc"]) == (400, True)


def test_a_disabled_service_answers_400_and_a_deleted_one_404(cdapdev: Caller) -> None:
    plugin = cdapdev.as_user("plugin")
    _, service = cdapdev("GET", f"{V2}/service/name/cdapdev")
    cdapdev("PUT", f"{V2}/service/{service['id']}", service | {"isEnabled": False})
    status, answer = download(plugin)
    assert (status, answer["messageList"][0]["name"]) == (400, "OPER_NOT_ALLOWED_FOR_STATE")
    assert cdapdev("DELETE", f"{V2}/service/{service['id']}")[0] == 204
    status, answer = download(plugin)
    assert status == 404
    assert "RANGER_ERROR_SERVICE_NOT_FOUND: ServiceName=cdapdev" in answer["msgDesc"]


def test_roles_are_downloaded_with_their_version(cdapdev: Caller) -> None:
    path = "/service/roles/secure/download/cdapdev"
    assert cdapdev("GET", path)[1].keys() == {"serviceName", "roleVersion", "roleUpdateTime"}
    role = {"name": "analysts", "users": [{"name": "alice", "isAdmin": False}]}
    assert cdapdev("POST", f"{V2}/roles", role)[0] == 200
    answer = cdapdev("GET", path)[1]
    assert [(row["name"], row["users"]) for row in answer["rangerRoles"]] == [("analysts", role["users"])]
    assert cdapdev("GET", f"{path}?lastKnownRoleVersion={answer['roleVersion']}") == (304, None)


def test_a_role_that_a_policy_names_is_part_of_what_plugins_must_learn(cdapdev: Caller) -> None:
    _, role = cdapdev("POST", f"{V2}/roles", {"name": "analysts"})
    item = {"roles": ["analysts"], "accesses": [{"type": "read"}]}
    cdapdev("POST", f"{V2}/policy", policy(policyItems=[item]))
    before = download(cdapdev)[1]["policyVersion"]
    cdapdev("PUT", f"{V2}/roles/{role['id']}", {"name": "scientists", "users": [{"name": "bob"}]})
    after = download(cdapdev)[1]
    assert after["policyVersion"] == before + 1
    assert after["policies"][0]["policyItems"][0]["roles"] == ["scientists"]
    assert cdapdev("DELETE", f"{V2}/roles/{role['id']}")[0] == 400


def test_a_deleted_user_is_taken_out_of_policies_and_groups(cdapdev: Caller) -> None:
    item = {"users": ["alice", "bob"], "accesses": [{"type": "read"}]}
    cdapdev("POST", f"{V2}/policy", policy(policyItems=[item], denyPolicyItems=[item | {"users": ["alice"]}]))
    before = download(cdapdev)[1]["policyVersion"]
    assert cdapdev("DELETE", "/service/xusers/secure/users/alice?forceDelete=true")[0] == 204
    after = download(cdapdev)[1]
    assert after["policyVersion"] == before + 1
    assert after["policies"][0]["policyItems"][0]["users"] == ["bob"]
    assert "alice" not in json.dumps(after)
    assert cdapdev.as_user("alice")("GET", f"{V2}/service")[0] == 401
    assert cdapdev("DELETE", "/service/xusers/secure/users/admin?forceDelete=true")[0] == 400


def test_the_user_store_holds_groups(cdapdev: Caller) -> None:
    _, user = cdapdev("GET", "/service/xusers/users/userName/alice")
    cdapdev("POST", "/service/xusers/secure/groups", {"name": "devs"})
    cdapdev("POST", "/service/xusers/groupusers", {"name": "devs", "userId": user["id"]})
    path = "/service/xusers/secure/download/cdapdev"
    answer = cdapdev.as_user("plugin")("GET", path)[1]
    assert answer["userGroupMapping"] == {"alice": ["devs"]}
    assert cdapdev("GET", f"{path}?lastKnownUserStoreVersion={answer['userStoreVersion']}") == (304, None)
