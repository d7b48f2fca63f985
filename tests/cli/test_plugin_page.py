"""Ranger's page *Plugin Status* after commands that download: no plugin that is none, the real one as it was."""

from __future__ import annotations

import socket
from typing import Any

import pytest
import requests

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cli.main import main
from ranger_cdap.config import load_settings
from ranger_cdap.ranger.client.downloader import COMMANDS
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from tests.cli.live_ranger import PASSWORD, grant

KV = {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}
DOWNLOADING = [
    ["doctor"],
    ["policies", "lint"],
    ["policies", "export"],
    ["policies", "diff", "ranger:", "ranger:"],
]
REPORTED = ("policyActiveVersion", "policyActivationTime", "roleActiveVersion")


@pytest.fixture
def service(ranger: RangerAdmin) -> RangerAdmin:
    assert main(["setup", "--yes", "--quiet"]) == 0
    grant(ranger, "kv", KV, "bob", "read")
    return ranger


def rows() -> list[dict[str, Any]]:
    """What the page shows."""
    url = f"{load_settings().ranger.url}/service/public/v2/api/plugins/info"
    found: list[dict[str, Any]] = requests.get(url, auth=("admin", PASSWORD), timeout=10).json()
    return found


def listed() -> dict[str, dict[str, Any]]:
    """What it shows, by application."""
    return {row["appType"]: row["info"] for row in rows()}


@pytest.mark.parametrize("words", DOWNLOADING, ids=lambda words: " ".join(words[:2]))
def test_where_no_plugin_runs_commands_of_all_hosts_share_one_row(
    words: list[str], service: RangerAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host in ("one.example.com", "two"):
        monkeypatch.setattr(socket, "gethostname", lambda host=host: host)
        main(words)
    assert [(row["appType"], row["hostName"]) for row in rows()] == [(COMMANDS, "any-host")]


@pytest.mark.parametrize("words", DOWNLOADING, ids=lambda words: " ".join(words[:2]))
def test_where_the_plugin_runs_a_command_adds_nothing_and_leaves_what_it_reported(
    words: list[str], service: RangerAdmin
) -> None:
    with Authorizer.open(load_settings(), refresh_in_background=False) as authorizer:
        authorizer.refresh()  # reports what it activated with the first download
    before = listed()["cdap"]
    main(words)
    after = listed()
    assert after.keys() == {"cdap"}
    assert [after["cdap"][name] for name in REPORTED] == [before[name] for name in REPORTED]
    assert int(before["policyActiveVersion"]) > 0
