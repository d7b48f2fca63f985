"""`ranger-cdap check` of an allowed operation: what CDAP itself also requires, and is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from tests.cli.fixtures import dataset, item, named, policy

ROW = (
    policy(1, {"namespace": "ns1"}, item("write", groups=["developers"])),
    policy(2, {"namespace": "ns1", "artifact": "shop"}, item("read", users=["alice"])),
)
READ_KV = policy(3, dataset("kv"), item("read", groups=["developers"]))
DEPLOY = ["alice", "application.deploy", "application:ns1.shop", "--group", "developers"]
FROM_ARTIFACT = [*DEPLOY, "--artifact", "artifact:ns1.shop"]
WITH = [*FROM_ARTIFACT, "--with", "datasets=dataset:ns1.kv", "--with", "datasets=dataset:ns1.day"]
ALSO = "allowed by profile `default`; CDAP also requires READ on dataset:ns1."


def shown(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> tuple[str, str]:
    capsys.readouterr()
    assert main(["check", *words]) == code
    told = capsys.readouterr()
    return told.out, told.err


@pytest.mark.parametrize(("policies", "expected"), [(ROW, ["kv", "day"]), ((*ROW, READ_KV), ["day"])])
@pytest.mark.parametrize("why", [[], ["--why"]])
def test_each_missing_privilege_has_a_line(
    policies: tuple[dict[str, object], ...],
    expected: list[str],
    why: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = named(tmp_path, policies)
    out, _ = shown(capsys, ExitCode.OK, *WITH, *why, *files)
    assert out.startswith("allowed: alice application.deploy on application:ns1.shop\n")
    assert [line.partition(ALSO)[2] for line in out.splitlines() if ALSO in line] == expected

    document = json.loads(shown(capsys, ExitCode.OK, *WITH, *why, *files, "--json")[0])
    assert (document["allowed"], document["reason"], document["missing"]) == (True, "allowed", [])
    assert document["cdap_asks"] == [
        {"user": "alice", "capacity": "requesting", "actions": ["READ"], "entity": f"dataset:ns1.{name}"}
        for name in expected
    ]


def test_what_is_not_known_is_a_note_or_absent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = named(tmp_path, ROW)
    out, err = shown(capsys, ExitCode.OK, *FROM_ARTIFACT, *files)
    assert "CDAP also requires" not in out
    assert err == (
        "note: CDAP also checks these, if there are any: datasets, types, modules; name them by --with ROLE=ENTITY\n"
    )

    denied = ["bob", *WITH[1:], "--json"]
    assert "cdap_asks" not in json.loads(shown(capsys, ExitCode.NO, *denied, *files)[0])
    assert "CDAP" not in "".join(shown(capsys, ExitCode.NO, *denied[:-1], *files))
