"""`ranger-cdap plan`: who needs what, without asking Ranger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ranger_cdap.cli.main import main

DEPLOY = ["plan", "alice", "application.deploy", "application:ns1.app"]


@pytest.fixture(autouse=True)
def _profile_004(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ranger-cdap.toml").write_text('[cdap]\nprofile = "004"\n[master]\nuser = "cdap"\n')
    monkeypatch.chdir(tmp_path)


def test_everybody_who_needs_something_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--jar", "artifact:ns1.app", "--with", "datasets=dataset:ns1.kv", "--impersonate", "svc"]
    more += ["--with", "principal=principal:svc/host@EXAMPLE.COM"]
    assert main([*DEPLOY, *more]) == 0

    told = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["alice", "the", "requesting", "user", "ADMIN", "application:ns1.app"] in told
    assert ["alice", "the", "requesting", "user", "ADMIN", "artifact:ns1.app"] in told
    assert ["svc", "the", "impersonated", "user", "ADMIN", "dataset:ns1.kv"] in told


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "plan", "alice", "program.start", "program:ns1.app.workflow.W"]) == 0
    (needs,) = json.loads(capsys.readouterr().out)
    assert needs == [
        {
            "user": "alice",
            "capacity": "requesting",
            "actions": ["EXECUTE"],
            "entity": {"type": "program", "parts": ["ns1", "app", "workflow.W"]},
        }
    ]


def test_what_is_needed_comes_first_and_the_requirements_last(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*DEPLOY, "--jar", "artifact:ns1.app"]) == 0
    first, *lines, last = capsys.readouterr().out.splitlines()
    assert first == "required privileges:"
    assert "required by:" in lines
    assert last.startswith("  S004-DEPLOY-")
    assert last.endswith(" for the impersonated user.")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--with", "dataset:ns1.kv"], "write it like datasets=dataset:ns1.purchases"),
        (["--with", "dataset=dataset:ns1.kv"], "did you mean `datasets`?"),
        (
            ["--with", "datasets=artifact:ns1.kv"],
            "`datasets` must be of type dataset, not `artifact:ns1.kv`",
        ),
        (["--with", "datasets=dataset:ns1"], "dataset"),
        (["--jar", "artifact:ns1.a*"], "artifact"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(more: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*DEPLOY, *more]) == 3
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1
