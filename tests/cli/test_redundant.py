"""`ranger-cdap policies lint --redundant`: what can be removed from policies without changing a decision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.cdap.grant import CREATORS_LABEL, grant_guid
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from tests.cli.fixtures import ROLES, download, item, policy

Json = dict[str, Any]
SALES = {"namespace": "ns1", "dataset": "sales.*"}
ORDERS = {"namespace": "ns1", "dataset": "sales.orders"}
EVIL = "etl\n[red]x@team\x1b[2J"


def written(folder: Path, *policies: Json) -> list[str]:
    (folder / "policies.json").write_text(json.dumps(download(list(policies))), encoding="utf-8")
    (folder / "roles.json").write_text(json.dumps(ROLES), encoding="utf-8")
    return [
        "policies",
        "lint",
        "--redundant",
        "--policies",
        str(folder / "policies.json"),
        "--roles",
        str(folder / "roles.json"),
    ]


WIDE = policy(1, SALES, item("read", groups=["analysts"]), name="sales")
NARROW = policy(2, ORDERS, item("read", groups=["analysts", "etl"]), item("write", users=["alice"]), name="orders")
AGAIN = policy(3, ORDERS, item("write", users=["alice"]), name="again")


def test_it_names_the_principal_and_who_gives_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(written(tmp_path, WIDE, NARROW, AGAIN)) == ExitCode.NO
    lines = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    rows = [[cell.strip() for cell in line if cell.strip()] for line in lines[1:]]
    assert rows == [
        ['3 "again"', "1", "user alice", "write", "dataset cdap/ns1/sales.orders",
         'policy 2 "orders", allow item 2 (user alice)'],
        ['2 "orders"', "1", "group analysts", "read", "dataset cdap/ns1/sales.orders",
         'policy 1 "sales", allow item 1 (group analysts)'],
    ]  # fmt: skip


def test_what_remains_decides_alike_and_can_be_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, out = written(tmp_path, WIDE, NARROW, AGAIN), tmp_path / "fewer.json"
    assert main([*arguments, "--out", str(out), "--json"]) == ExitCode.NO
    assert len(json.loads(capsys.readouterr().out)["redundant"]) == 2
    roles = ["--roles", str(tmp_path / "roles.json")]
    assert main(["policies", "impact", str(tmp_path / "policies.json"), str(out), *roles, "--fail-on", "any"]) == 0
    assert [one["name"] for one in json.loads(out.read_text(encoding="utf-8"))["policies"]] == ["orders", "sales"]
    assert main(["policies", "lint", "--redundant", "--policies", str(out), *roles]) == ExitCode.OK
    assert "nothing is redundant" in capsys.readouterr().out


def test_grants_of_the_sync_job_stay_unless_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guid = grant_guid("cdap", entity_id("dataset", ("ns1", "kv")), 1)
    levels = {"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"]}, "dataset": {"values": ["kv"]}}
    given = {"users": ["alice"], "accesses": [{"type": name} for name in ("read", "write", "admin", "execute")]}
    grant: Json = {
        "id": 9, "guid": guid, "name": f"alice created kv (1, {guid[:8]})", "policyLabels": [CREATORS_LABEL],
        "resources": levels, "additionalResources": [levels], "policyItems": [given],
    }  # fmt: skip
    same = policy(4, {"namespace": "ns1", "dataset": "k*"}, item("read", "write", "admin", "execute", users=["alice"]))
    assert main(written(tmp_path, same, grant)) == ExitCode.OK
    capsys.readouterr()
    assert main([*written(tmp_path, same, grant), "--creators", "--json"]) == ExitCode.NO
    assert [one["policy_id"] for one in json.loads(capsys.readouterr().out)["redundant"]] == [9]


def test_an_item_without_effect_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    denied = policy(5, ORDERS, item("read", users=["eve"]), denyPolicyItems=[item("read", users=["eve"])])
    assert main(written(tmp_path, denied)) == ExitCode.NO
    assert "nothing: it has no effect" in capsys.readouterr().out


def test_names_of_policies_do_no_harm_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = [policy(n, ORDERS, item("read", groups=[EVIL]), name=EVIL) for n in (1, 2)]
    assert main(written(tmp_path, *twice)) == ExitCode.NO
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        ("{", "cannot be used"),
        ("[]", "cannot be used"),
        ('{"serviceName": "s", "policies": [7]}', ""),
    ],
)
def test_a_file_that_holds_no_policies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, message: str
) -> None:
    path = tmp_path / "p.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert main(["policies", "lint", "--redundant", "--policies", str(path)]) != ExitCode.NO
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown


def test_a_file_that_cannot_be_written_ends_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = written(tmp_path, WIDE, NARROW)
    assert main([*arguments, "--out", str(tmp_path / "missing" / "x.json")]) == ExitCode.INVALID_INPUT
    assert "cannot be written" in capsys.readouterr().err
