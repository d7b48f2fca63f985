"""Roles and policies as code where security zones are, on an embedded Ranger Admin."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from tests.cli.fixtures import Json, item, policy
from tests.cli.live_ranger import PASSWORD

Run = Callable[..., list[str]]
OF_FIN9 = ("viewer", "--namespace", "fin9", "--user", "alice")
READ = ("alice", "application.get", "application:fin9.shop", "--policies", "ranger:")


@pytest.fixture
def run(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command that ends with this code, in a service that is set up; its lines."""
    assert main(["setup", "--yes", "--quiet"]) == ExitCode.OK

    def command(code: int, *words: str) -> list[str]:
        capsys.readouterr()
        assert main([*words]) == code, capsys.readouterr().err
        return capsys.readouterr().out.splitlines()

    return command


def zone(ranger: RangerAdmin, *resources: dict[str, list[str]], name: str = "finance") -> None:
    there = {"resources": [{"instance": ["cdap"], **one} for one in resources]}
    body = {"name": name, "services": {"cdapdev": there}, "adminUsers": ["bob"], "auditUsers": ["bob"]}
    url = f"{ranger.url}/service/public/v2/api/zones"
    assert requests.post(url, json=body, auth=("admin", PASSWORD), timeout=10).ok


def test_a_role_is_given_in_the_zone_of_its_namespace_and_follows_it(ranger: RangerAdmin, run: Run) -> None:
    before = run(ExitCode.OK, "roles", "apply", *OF_FIN9, "--yes")
    assert not [line for line in before if "zone" in line]
    run(ExitCode.OK, "check", *READ)
    zone(ranger, {"namespace": ["fin*"]})
    run(ExitCode.NO, "check", *READ)

    moved = run(ExitCode.NO, "roles", "apply", *OF_FIN9, "--dry-run")
    created = [line for line in moved if line.startswith("create policy")]
    assert created
    assert all("in zone `finance`: give read to role fin9_viewer" in line for line in created)
    assert len([line for line in moved if line.startswith("delete policy")]) == len(created)
    assert not [line for line in moved if line.startswith("delete") and "zone" in line]
    run(ExitCode.OK, "roles", "apply", *OF_FIN9, "--yes")
    assert run(ExitCode.OK, "check", *READ)[1].endswith("(zone finance, version 1)")
    assert [line[:4] for line in run(ExitCode.OK, "roles", "apply", *OF_FIN9, "--dry-run")] == ["keep"]

    removed = run(ExitCode.OK, "roles", "remove", "viewer", "--namespace", "fin9", "--yes")
    assert len([line for line in removed if line.startswith("delete policy") and "in zone `finance`" in line]) == len(
        created
    )
    run(ExitCode.NO, "check", *READ)


def test_a_namespace_that_is_partly_in_a_zone_is_said_and_given_on_both_sides(ranger: RangerAdmin, run: Run) -> None:
    zone(ranger, {"namespace": ["fin9"], "application": ["shop"]})
    steps = run(ExitCode.OK, "roles", "apply", *OF_FIN9, "--yes")
    partly = [line for line in steps if "; part of the resource is in security zone `finance`, with a policy" in line]
    assert [("every application" in line or "every program" in line, "in zone" in line) for line in partly] == [
        (True, False),
        (True, True),
    ] * 2
    for name in ("shop", "other"):
        run(ExitCode.OK, "check", "alice", "application.get", f"application:fin9.{name}", "--policies", "ranger:")


def written(path: str, one: Json) -> str:
    given = {name: value for name, value in one.items() if name not in ("id", "version")}
    Path(path).write_text(json.dumps({"policies": [given]}))
    return path


@pytest.mark.parametrize(
    ("more", "namespace", "said"),
    [
        ({}, "fin9", "its resource is in security zone `finance`, where only policies of the zone decide"),
        ({"zoneName": "finance"}, "hr", "it belongs to security zone `finance`, but its resource is outside it"),
        ({"zoneName": "finance"}, "fin9", ""),
        ({}, "hr", ""),
    ],
)
def test_a_policy_on_the_wrong_side_of_a_border_is_said_before_it_is_written(
    more: dict[str, Any], namespace: str, said: str, ranger: RangerAdmin, run: Run
) -> None:
    zone(ranger, {"namespace": ["fin*"]})
    levels = {"namespace": namespace, "dataset": "kv"}
    path = written("wanted.json", policy(1, levels, item("read", users=["alice"]), name="kv", **more))
    (line,) = (line for line in run(ExitCode.NO, "policies", "apply", path, "--dry-run") if "`kv`" in line)
    assert said in line
    assert bool(said) == ("security zone" in line)
