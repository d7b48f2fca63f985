"""`ranger-cdap needs`: who needs what, without asking Ranger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ranger_cdap.cdap.requirements import with_sentence
from ranger_cdap.cli.main import main

DEPLOY = ["needs", "alice", "application.deploy", "application:ns1.app"]


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


@pytest.mark.parametrize(
    ("jar", "artifact"),
    [
        ("shop-1.0.0.jar", "artifact:ns1.shop"),
        ("target/shop-1.0.0-SNAPSHOT.jar", "artifact:ns1.shop"),
        ("artifact:ns2.shop-1.0.0", "artifact:ns2.shop-1.0.0"),
    ],
)
def test_the_name_of_a_jar_stands_for_its_artifact(jar: str, artifact: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*DEPLOY, "--jar", jar]) == 0
    assert ["alice", "the", "requesting", "user", "ADMIN", artifact] in [
        line.split() for line in capsys.readouterr().out.splitlines()
    ]


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "needs", "alice", "program.start", "program:ns1.app.workflow.W"]) == 0
    (needs,) = json.loads(capsys.readouterr().out)
    assert needs == [
        {
            "user": "alice",
            "capacity": "requesting",
            "actions": ["EXECUTE"],
            "entity": "program:ns1.app.workflow.W",
            "requirements": ["S004-EXEC-0", "S004-EXEC-R1"],
        }
    ]


def test_what_is_needed_comes_first_and_the_requirements_last(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*DEPLOY, "--jar", "artifact:ns1.app"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("required privileges:\n")
    assert out.partition("required by:\n")[2].splitlines() == [
        "  ADMIN on application:ns1.app, by alice",
        f"    {with_sentence('S004-DEPLOY-0')}",
        "  ADMIN on artifact:ns1.app, by alice",
        f"    {with_sentence('S004-DEPLOY-1')}",
    ]


def test_an_operation_that_no_document_covers_is_planned_without_requirements(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["needs", "alice", "instance.update", "instance:"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1].split() == ["alice", "the", "requesting", "user", "ADMIN", "instance:"]


@pytest.mark.parametrize(
    ("more", "missing"),
    [
        ([], "artifact or jar"),
        (["--artifact", "artifact:ns1.app", "--impersonate", "svc"], "principal"),
        (["--jar", "artifact:ns1.app", "--impersonate", "svc"], "principal"),
        (["--impersonate", "svc"], "artifact and principal or jar and principal"),
    ],
)
def test_only_entities_that_would_complete_an_alternative_are_asked_for(
    more: list[str], missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*DEPLOY, *more]) == 0
    assert capsys.readouterr().out == f"cannot be decided without {missing}: name it by --with ROLE=ENTITY\n"


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
        (["--jar", "shop.jar"], "`shop.jar` is not the name of a jar that CDAP takes"),
        (["--jar", "shop"], "`shop` is not an entity"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(more: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*DEPLOY, *more]) == 3
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("words", ["--impersonate bob", "--jar x.jar --type dataset", "--with datasets=dataset:ns1.kv"])
def test_without_a_user_an_option_of_a_check_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["needs", *words.split()]) == 3
    assert "need USER, OPERATION and ENTITY" in capsys.readouterr().err
