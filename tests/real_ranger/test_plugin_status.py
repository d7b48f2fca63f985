"""Ranger's page *Plugin Status* shows our plugin as any other, and nothing that is no plugin."""

from __future__ import annotations

import socket

from ranger_cdap.doctor.accounts import accounts, examine_account
from ranger_cdap.ranger.client.downloader import capabilities
from tests.real_ranger.estate import Estate, Json
from tests.real_ranger.ui_forms import POLICIES, item, new_policy


def rows(estate: Estate) -> list[Json]:
    """The rows of the flow's service, as the page asks for them."""
    answer = estate.done("GET", f"/service/plugins/plugins/info?pageSize=25&startIndex=0&serviceName={estate.service}")
    found: list[Json] = answer.get("pluginInfoList", [])
    return found


def change(estate: Estate, name: str) -> None:
    row = item("read", users=[estate.user("alice")])
    levels = {"instance": ["cdap"], "namespace": [name]}
    estate.done("POST", POLICIES, new_policy(estate.service, name, levels, policyItems=[row]))


def test_it_shows_application_host_versions_and_times(estate: Estate) -> None:
    estate.set_up()
    change(estate, "ns1")
    with estate.plugin() as plugin:
        first = plugin.refresh().versions
        plugin.refresh()
        (row,) = rows(estate)
        assert (row["serviceName"], row["serviceType"], row["appType"], row["hostName"]) == (
            estate.service,
            "cdap",
            "cdap",
            socket.gethostname(),
        )
        info = row["info"]
        assert info["pluginCapabilities"] == capabilities()
        for kind, version in (("policy", first.policies), ("tag", first.tags)):
            assert info[f"{kind}ActiveVersion"] == info[f"{kind}DownloadedVersion"] == str(version), kind
        assert info["latestPolicyVersion"] == str(first.policies)
        assert int(info["policyDownloadTime"]) > 0
        assert int(info["policyActivationTime"]) > 0


def test_between_a_change_and_the_next_refresh_it_is_seen_as_behind(estate: Estate) -> None:
    estate.set_up()
    change(estate, "ns1")
    with estate.plugin() as plugin:

        def versions() -> tuple[int, ...]:
            (row,) = rows(estate)
            names = ("policyActiveVersion", "policyDownloadedVersion", "latestPolicyVersion")
            active, downloaded, latest = (int(row["info"][name]) for name in names)
            return active, downloaded, latest

        plugin.refresh()
        plugin.refresh()
        begun = versions()
        assert len(set(begun)) == 1
        change(estate, "ns2")
        assert versions() == (begun[0], begun[1], begun[2] + 1)
        plugin.refresh()
        assert versions() == (begun[0], begun[2] + 1, begun[2] + 1)  # active is what the next download reports
        plugin.refresh()
        assert versions() == (begun[0] + 1,) * 3


def test_the_doctor_adds_no_row_and_takes_no_version_back(estate: Estate) -> None:
    estate.set_up()
    change(estate, "ns1")
    with estate.plugin() as plugin:
        plugin.refresh()
        plugin.refresh()
    (before,) = rows(estate)
    policies = None
    for account in accounts(estate.settings):
        _, downloaded = examine_account(account, estate.settings, policies)
        policies = policies or downloaded
    (after,) = rows(estate)
    active = [name for name in before["info"] if name.endswith(("ActiveVersion", "ActivationTime"))]
    assert active
    assert {name: after["info"][name] for name in active} == {name: before["info"][name] for name in active}
