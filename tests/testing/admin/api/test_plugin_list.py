"""The list of plugins, over HTTP."""

from __future__ import annotations

from ranger_cdap.testing.admin.store.plugin_list import MAX_PLUGINS, Plugin, PluginList
from tests.testing.admin.caller import V2, Caller

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
