"""Commands that talk to a Ranger Admin: their answers for programs, and the same policies as from a file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cli.main import main
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from tests.cli.live_ranger import grant

KV = {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}
GET = ["alice", "dataset.get", "dataset:ns1.kv"]
EXPECTED = """
[[expect]]
user = "alice"
operation = "dataset.get"
entity = "dataset:ns1.kv"
expected = "allowed"
"""


def answered(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> Any:
    capsys.readouterr()
    assert main([*arguments, "--json", "--quiet"]) == code
    told = capsys.readouterr()
    assert told.err == ""
    return json.loads(told.out)


def test_every_answer_is_one_document(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> None:
    steps = answered(capsys, 0, "setup", "--yes")
    assert {"change", "kind", "name"} <= set(steps[0])
    grant(ranger, "kv", KV, "alice", "read")
    assert main(["policies", "export", "--out", "policies.json"]) == 0
    assert answered(capsys, 0, "policies", "apply", "--dry-run", "policies.json") == []
    grant(ranger, "ns1", {"instance": "cdap", "namespace": "ns1"}, "alice", "read")
    (extra,) = answered(capsys, 2, "policies", "apply", "--dry-run", "policies.json")
    assert (extra["change"], extra["name"]) == ("keep", "ns1")
    assert answered(capsys, 0, "policies", "apply", "--yes", "policies.json") == [extra]

    (refreshed,) = answered(capsys, 0, "policies", "refresh")
    assert {"service", "policies", "roles", "tags", "users"} == set(refreshed)
    assert answered(capsys, 0, "check", *GET)["allowed"] is True
    assert answered(capsys, 2, "check", "bob", *GET[1:])["missing"]
    explained = answered(capsys, 0, "check", "--why", *GET)
    assert [one["policy"]["name"] for one in explained["alternatives"][0]] == ["kv"]
    holders = answered(capsys, 0, "access", "--entity", "dataset:ns1.kv")["holders"]
    (alice,) = [row for row in holders if row["name"] == "alice"]
    assert alice["accesses"]["read"]["policy"]["name"] == "kv"
    shown = answered(capsys, 0, "access", "--format", "matrix", "--entity", "namespace:ns1")
    assert [row["entity"] for row in shown["rows"]] == ["namespace:ns1", "dataset:ns1.kv"]
    Path("expected.toml").write_text(EXPECTED)
    assert answered(capsys, 0, "policies", "test", "expected.toml")["met"] == 1
    assert answered(capsys, 0, "policies", "lint") == []
    assert {"check", "health", "seen", "advice"} == set(answered(capsys, 0, "doctor")[0])


def test_the_cache_of_a_plugin_is_a_file_of_policies(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["setup", "--yes"]) == 0
    grant(ranger, "kv", KV, "alice", "read")
    live = answered(capsys, 0, "access", "--entity", "dataset:ns1.kv")
    cached = [path for path in Path("cache").iterdir() if path.name.endswith("_cdapdev.json")]
    assert answered(capsys, 0, "access", "--entity", "dataset:ns1.kv", "--policies", str(*cached)) == live


def test_without_policies_nothing_is_tested_or_shown(ranger: RangerAdmin, capsys: pytest.CaptureFixture[str]) -> None:
    Path("expected.toml").write_text(EXPECTED)
    for command in (
        "policies test expected.toml",
        "access --format matrix --entity namespace:ns1",
        "access --entity dataset:ns1.kv",
        f"check --why {' '.join(GET)}",
    ):
        assert main(command.split()) == 4
        told = capsys.readouterr()
        assert told.out == ""
        assert "(not-ready)" in told.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "keys"),
    [
        (["embedded-admin", "--port", "0"], {"url", "user", "password"}),
        (["--set", "service.port=0", "serve"], {"url", "enforcement"}),
    ],
    ids=["embedded-admin", "serve"],
)
def test_a_server_says_where_it_listens(command: list[str], keys: set[str], ranger: RangerAdmin) -> None:
    program = [sys.executable, "-m", "ranger_cdap", *command, "--json", "--quiet"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        lines = iter(server.stdout.readline, "}\n")
        document = json.loads("".join(lines) + "}")
        server.terminate()
    assert set(document) == keys


@pytest.mark.slow
@pytest.mark.parametrize(("options", "said"), [([], True), (["--quiet"], False)], ids=["as ever", "quiet"])
def test_what_is_logged_is_not_said_to_the_quiet(options: list[str], said: bool, tmp_path: Path) -> None:
    config = tmp_path / "open.toml"
    config.write_text('[plugin]\npassword = "s3cret"\n')
    config.chmod(0o644)
    program = [sys.executable, "-m", "ranger_cdap", "--config", str(config), "config", *options]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert ("holds a secret and is world-readable" in done.stderr) is said
    assert said or done.stderr == ""
    assert "s3cret" not in done.stdout + done.stderr


@pytest.mark.usefixtures("ranger")
def test_accepting_older_policies_names_the_command_that_settles_the_grants(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["setup", "--yes"]) == 0
    for arguments, named in ((["--allow-older"], True), ([], False)):
        capsys.readouterr()
        assert main(["policies", "refresh", *arguments]) == 0
        assert ("`ranger-cdap sync reconcile`" in capsys.readouterr().err) is named
