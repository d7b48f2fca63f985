"""The embedded Ranger Admin over HTTP: rights, versions and downloads."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from apache_ranger.client.ranger_client import RangerClient
from apache_ranger.client.ranger_user_mgmt_client import RangerUserMgmtClient
from apache_ranger.exceptions import RangerServiceException
from apache_ranger.model.ranger_policy import RangerPolicy
from apache_ranger.model.ranger_service import RangerService
from embedded_caller import DOWNLOAD, PASSWORD, V2, Caller, download, policy

from servicedef import service_definition


def names(answer: Any) -> list[str]:
    return [row["name"] for row in answer]


# Versions and downloads


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


def test_a_download_holds_enabled_policies_the_completed_definition_and_the_tag_service(cdapdev: Caller) -> None:
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


def test_a_change_of_tag_policies_is_a_new_policy_version_of_the_services_that_link_them(cdapdev: Caller) -> None:
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


# Rights

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
        text = json.dumps(cdapdev("GET", path)[1])
        assert "hunter2" not in text
        assert PASSWORD not in text
        assert "$" not in text.replace("$schema", "")


def test_the_built_in_users_cannot_sign_in(admin: Caller) -> None:
    for user in ("rangerusersync", "rangertagsync", "keyadmin", "{USER}", "{OWNER}"):
        for password in ("", user, "admin", PASSWORD):
            assert admin.as_user(user, password)("GET", f"{V2}/service")[0] == 401


# The library, and many callers at once


def test_the_apache_ranger_client_works_unmodified(admin: Caller) -> None:
    client = RangerClient(admin.url, ("admin", PASSWORD))
    client.session.trust_env = False
    users = RangerUserMgmtClient(client)
    assert client.create_service_def(service_definition())["name"] == "cdap"
    assert client.get_service_def("cdap").version == 1
    service = client.create_service(RangerService({"name": "dev", "type": "cdap", "configs": {"username": "boss"}}))
    everything = client.get_policies_in_service("dev")
    assert {item.users[0] for found in everything for item in found.policyItems} == {"boss"}
    assert "all - instance, namespace, dataset" in [found.name for found in everything]
    made = client.create_policy(RangerPolicy(policy(user="boss") | {"service": "dev"}))
    assert client.get_policy("dev", "p").id == made.id
    made.description = "changed"
    assert client.update_policy_by_id(made.id, made).version == 2
    with pytest.raises(RangerServiceException) as refused:
        client.create_policy(RangerPolicy(policy(user="boss") | {"service": "dev"}))
    assert refused.value.statusCode == 400
    client.delete_policy_by_id(made.id)
    assert client.get_policy("dev", "p") is None
    assert "boss" in [user.name for user in users.find_users({"name": "bo"}).list]
    client.delete_service_by_id(service.id)
    assert [found.name for found in client.find_services()] == ["tag"]


@pytest.mark.parametrize("path", ["policy", "service"])
def test_of_many_who_create_the_same_thing_at_once_exactly_one_succeeds(cdapdev: Caller, path: str) -> None:
    body = policy() if path == "policy" else {"name": "dev2", "type": "cdap"}
    together = threading.Barrier(8)

    def create(_: int) -> int:
        together.wait()
        return cdapdev("POST", f"{V2}/{path}", body)[0]

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(create, range(8))) == [200] + [400] * 7


def test_of_many_who_create_different_policies_at_once_all_succeed(cdapdev: Caller) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: cdapdev("POST", f"{V2}/policy", policy(f"p{n}", f"ns{n}")), range(80)))
    assert {status for status, _ in made} == {200}
    assert len({answer["id"] for _, answer in made}) == 80
    answer = download(cdapdev)[1]
    assert len(answer["policies"]) == 80
    assert answer["policyVersion"] == 2 + 80


def test_lists_are_cut_at_200_unless_asked_otherwise(cdapdev: Caller) -> None:
    for n in range(203):
        assert cdapdev("POST", f"{V2}/policy", policy(f"p{n}", f"ns{n}"))[0] == 200
    path = f"{V2}/service/cdapdev/policy"
    assert len(cdapdev("GET", path)[1]) == 200
    assert len(cdapdev("GET", f"{path}?pageSize=100000")[1]) == 203
    pages = [cdapdev("GET", f"{path}?pageSize=100&startIndex={start}")[1] for start in (0, 100, 200, 300)]
    assert [len(page) for page in pages] == [100, 100, 3, 0]
    assert [row["name"] for page in pages for row in page] == [f"p{n}" for n in range(203)]
    assert cdapdev("GET", "/service/plugins/policies/service/1?pageSize=2")[1]["totalCount"] == 203
