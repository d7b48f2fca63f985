"""Files of policies, deletion by a search, and the list of plugins, over HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ranger_cdap.embedded_admin.store.plugin_list import MAX_PLUGINS, Plugin, PluginList
from tests.embedded_admin.caller import PASSWORD, V2, Caller, policy
from tests.embedded_admin.exchanges import basic, send

EXPORT = "/service/plugins/policies/exportJson"
IMPORT = "/service/plugins/policies/importPoliciesFromFile"
BULK = f"{V2}/policies/bulk"


def upload(
    admin: Caller, *policies: dict[str, Any], query: str = "", user: str = "admin", name: str = "p.json"
) -> tuple[int, str]:
    content = json.dumps({"metaDataInfo": {}, "policies": policies})
    disposition = f'Content-Disposition: form-data; name="file"; filename="{name}"'
    body = f"--b\r\n{disposition}\r\nContent-Type: application/json\r\n\r\n{content}\r\n--b--\r\n"
    headers = {"authorization": basic(user, PASSWORD), "content-type": "multipart/form-data; boundary=b"}
    status, _, answer = send(admin.url, "POST", f"{IMPORT}{query}", headers=headers, body=body.encode())
    return status, answer.decode()


def names(admin: Caller, service: str = "cdapdev") -> list[str]:
    return [row["name"] for row in admin("GET", f"{V2}/service/{service}/policy")[1]]


def test_an_exported_file_can_be_imported_elsewhere(cdapdev: Caller) -> None:
    for name in ("a", "b", "off"):
        cdapdev("POST", f"{V2}/policy", policy(name, name, isEnabled=name != "off"))
    status, file = cdapdev("GET", f"{EXPORT}?serviceName=cdapdev", accept="text/json")
    assert (status, [row["name"] for row in file["policies"]]) == (200, ["a", "b", "off"])
    cdapdev("POST", f"{V2}/service", {"name": "other", "type": "cdap"})
    assert upload(cdapdev, *({**row, "service": "other"} for row in file["policies"])) == (204, "")
    assert names(cdapdev, "other") == ["a", "b", "off"]


@pytest.mark.parametrize(
    ("accept", "query", "status"),
    [
        ("application/json", "", 406),
        ("text/json", "", 200),
        ("text/json", "?policyNamePartial=p", 200),
        ("*/*", "?policyNamePartial=p", 406),
        ("*/*", "?serviceName=x", 406),
        ("text/json", "?serviceName=x", 204),
    ],
)
def test_an_export_needs_text_json_and_nothing_found_is_204(
    cdapdev: Caller, accept: str, query: str, status: int
) -> None:
    cdapdev("POST", f"{V2}/policy", policy())
    assert cdapdev("GET", f"{EXPORT}{query}", accept=accept)[0] == status


def test_somebody_without_rights_exports_nothing(cdapdev: Caller) -> None:
    cdapdev("POST", f"{V2}/policy", policy())
    assert cdapdev.as_user("alice")("GET", EXPORT, accept="text/json") == (204, None)


IMPORTS = [
    # of which users, the query, status, a part of the answer
    (["alice", "alice"], "", 204, ""),
    (["alice", "nobody"], "", 400, "User name: nobody"),
    (["alice"], "?isOverride=true", 501, "delete the policies first"),
]


@pytest.mark.parametrize(("users", "query", "status", "text"), IMPORTS)
def test_a_file_is_stored_as_a_whole_or_not_at_all(
    cdapdev: Caller, users: list[str], query: str, status: int, text: str
) -> None:
    answer = upload(cdapdev, *(policy(f"p{n}", f"ns{n}", user) for n, user in enumerate(users)), query=query)
    assert (answer[0], text in answer[1]) == (status, True)
    assert len(names(cdapdev)) == (len(users) if status == 204 else 0)


def test_a_file_comes_again_only_as_an_update(cdapdev: Caller) -> None:
    assert upload(cdapdev, policy())[0] == 204
    assert upload(cdapdev, policy())[0] == 400
    assert upload(cdapdev, policy(), query="?mergeIfExists=true") == (
        400,
        '{"statusCode":400,"msgDesc":"policyID mismatch"}',
    )
    assert upload(cdapdev, policy(user="bob"), query="?updateIfExists=true")[0] == 204
    (only,) = cdapdev("GET", f"{V2}/service/cdapdev/policy")[1]
    assert only["policyItems"][0]["users"] == ["bob"]


def test_only_an_administrator_imports_and_only_a_file_of_json(cdapdev: Caller) -> None:
    assert upload(cdapdev, policy(), user="sync")[0] == 403
    assert upload(cdapdev, policy(), name="p.csv")[0] == 400
    assert cdapdev("POST", IMPORT, {"policies": []})[0] == 415
    assert names(cdapdev) == []


def test_what_a_search_finds_is_deleted_together(cdapdev: Caller) -> None:
    ids = [cdapdev("POST", f"{V2}/policy", policy(name, name))[1]["id"] for name in ("old_1", "old_2", "new")]
    search = f"{BULK}?serviceName=cdapdev&policyNamePartial=old"
    assert cdapdev("DELETE", BULK)[0] == 400
    assert cdapdev.as_user("alice")("DELETE", search) == (204, None)
    assert cdapdev("DELETE", search) == (200, ids[:2])
    assert names(cdapdev) == ["new"]


# The list of plugins

PLUGINS = f"{V2}/plugins/info"
DOWNLOADS = {
    "policy": "/service/plugins/secure/policies/download/cdapdev?lastKnownVersion=",
    "role": "/service/roles/secure/download/cdapdev?lastKnownRoleVersion=",
    "tag": "/service/tags/secure/download/cdapdev?lastKnownVersion=",
    "userstore": "/service/xusers/secure/download/cdapdev?lastKnownUserStoreVersion=",
}


def test_a_plugin_is_listed_with_what_it_has(cdapdev: Caller) -> None:
    assert cdapdev("GET", PLUGINS) == (200, [])
    for kind, path in DOWNLOADS.items():
        assert cdapdev("GET", f"{path}-1&pluginId=cdap@my-host-cdapdev&pluginCapabilities=7f")[0] == 200, kind
    version = cdapdev("GET", f"{V2}/service/name/cdapdev")[1]["policyVersion"]
    known = f"{DOWNLOADS['policy']}{version}&pluginId=cdap@my-host-cdapdev&lastActivationTime=17&pluginCapabilities=7f"
    assert cdapdev("GET", known)[0] == 304
    ((row,)) = cdapdev("GET", PLUGINS)[1]
    assert (row["appType"], row["hostName"], row["serviceType"]) == ("cdap", "my-host", "cdap")
    info = row["info"]
    assert info["pluginCapabilities"] == "7f"
    assert (info["policyActiveVersion"], info["policyActivationTime"]) == (str(version), "17")
    assert info["policyDownloadedVersion"] == info["latestPolicyVersion"] == str(version)
    assert {f"{kind}DownloadTime" for kind in DOWNLOADS} <= info.keys()


def test_the_list_is_searched_counted_and_for_administrators(cdapdev: Caller) -> None:
    for plugin in ("&pluginId=cdap@one-cdapdev", "&pluginId=cdap@two-cdapdev", "", "&pluginId=@"):
        cdapdev("GET", f"{DOWNLOADS['policy']}-1{plugin}")
    envelope = cdapdev("GET", "/service/plugins/plugins/info?pageSize=1")[1]
    assert (envelope["totalCount"], envelope["resultSize"], len(envelope["pluginInfoList"])) == (3, 1, 1)
    assert [row["hostName"] for row in cdapdev("GET", f"{PLUGINS}?pluginHostName=two")[1]] == ["two"]
    assert [row["appType"] for row in cdapdev("GET", PLUGINS)[1]] == ["cdap", "cdap", "**Unknown**"]
    assert cdapdev.as_user("plugin")("GET", PLUGINS)[0] == 403


def test_of_too_many_plugins_those_silent_for_longest_are_forgotten() -> None:
    plugins = PluginList()
    for number in range(MAX_PLUGINS):
        plugins.note("cdapdev", Plugin("cdap", str(number)), {}, number, first={})
    plugins.note("cdapdev", Plugin("cdap", "0"), {}, MAX_PLUGINS, first={})
    plugins.note("cdapdev", Plugin("cdap", "new"), {}, MAX_PLUGINS, first={})
    listed = plugins.all()
    assert [row.plugin.host for row in (*listed[:2], listed[-1])] == ["0", "2", "new"]
    assert len(listed) == MAX_PLUGINS
