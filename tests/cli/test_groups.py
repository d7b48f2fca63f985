"""`ranger-cdap groups`: who is in which group by which source, and what failed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from tests.cli.fixtures import named

NO_SERVER = """
[ldap]
urls = ["ldap://127.0.0.1:1"]
bind_dn = "CN=reader"
bind_password = "hunter2"
user_base = "dc=example"
"""


def asked(folder: Path, capsys: pytest.CaptureFixture[str], user: str, toml: str) -> tuple[int, dict[str, Any], str]:
    config = folder / "ranger-cdap.toml"
    config.write_text(toml)
    code = main(["--config", str(config), "groups", user, "--json", *named(folder)])
    told = capsys.readouterr()
    assert "hunter2" not in told.out + told.err
    return code, json.loads(told.out), told.err


def by_source(document: dict[str, Any]) -> dict[str, Any]:
    return {one["source"]: one for one in document["sources"]}


def test_without_sources_the_groups_are_those_of_ranger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = asked(tmp_path, capsys, "carol", "")
    assert (code, document["known"]) == (ExitCode.OK, True)
    assert [one["source"] for one in document["sources"]] == ["ranger"]
    assert document["groups"] == document["sources"][0]["groups"]


def test_static_groups_are_added_to_those_of_ranger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml = '[groups]\nsources = ["ldap"]\nstatic = { etl = ["batch", "ops"], odd = ["a, b", "c"] }\n' + NO_SERVER
    code, document, _ = asked(tmp_path, capsys, "etl", toml)
    assert (code, document["groups"]) == (ExitCode.OK, ["batch", "ops"])
    config = str(tmp_path / "ranger-cdap.toml")
    assert main(["--config", config, "groups", "odd", *named(tmp_path)]) == ExitCode.OK
    assert 'odd is in "a, b", c' in capsys.readouterr().out
    assert by_source(document)["static"]["groups"] == ["batch", "ops"]
    assert "ldap" not in by_source(document)


def test_a_directory_that_does_not_answer_is_named_and_the_command_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document, _ = asked(tmp_path, capsys, "carol", '[groups]\nsources = ["ldap"]\n' + NO_SERVER)
    assert (code, document["known"]) == (ExitCode.NO, False)
    found = by_source(document)["ldap"]
    assert (found["groups"], found["knows_user"]) == ([], None)
    assert found["problem"] == "the directory is unavailable: no connection"


def test_the_table_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "ranger-cdap.toml"
    config.write_text('[groups]\nsources = ["posix"]\nstatic = { etl = ["batch"] }\n')
    assert main(["--config", str(config), "groups", "no-such-user", *named(tmp_path)]) == ExitCode.NO
    told = capsys.readouterr()
    assert "(no such user)" in told.out
    assert "no-such-user is in no group" in told.out
    assert "member of every group named in a deny" in told.err
    assert main(["--config", str(config), "groups", "etl", *named(tmp_path)]) == ExitCode.OK
    assert "etl is in batch" in capsys.readouterr().out


@pytest.mark.parametrize("user", ["", "\x1b[2Jx", "x" * 300, "\u202eecila"])
def test_hostile_names(tmp_path: Path, capsys: pytest.CaptureFixture[str], user: str) -> None:
    config = tmp_path / "ranger-cdap.toml"
    config.write_text('[groups]\nsources = ["posix"]\n')
    code = main(["--config", str(config), "groups", user, *named(tmp_path)])
    told = capsys.readouterr()
    assert code == (ExitCode.NO if user else ExitCode.INVALID_INPUT)
    assert not set("\x1b\u202e") & set(told.out + told.err)
