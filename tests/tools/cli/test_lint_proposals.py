"""`ranger-cdap policies lint --propose`: what makes policies fewer and narrower without a lost access."""

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
        "--propose",
        "--policies",
        f"{folder / 'policies.json'},{folder / 'roles.json'}",
    ]


WIDE = policy(1, SALES, item("read", groups=["analysts"]), name="sales")
NARROW = policy(2, ORDERS, item("read", groups=["analysts", "etl"]), item("write", users=["alice"]), name="orders")
AGAIN = policy(3, ORDERS, item("write", users=["alice"]), name="again")


def test_it_names_the_principal_and_who_gives_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(written(tmp_path, WIDE, NARROW, AGAIN)) == ExitCode.NO
    lines = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    rows = [[cell.strip() for cell in line if cell.strip()] for line in lines[1:]]
    assert rows == [
        ['3 "again"', "item 1", "remove", "user alice: write on dataset:ns1.sales.orders; given by"
         ' policy 2 "orders", allow item 2 (user alice)'],
        ['2 "orders"', "item 1", "remove", "group analysts: read on dataset:ns1.sales.orders; given by"
         ' policy 1 "sales", allow item 1 (group analysts)'],
    ]  # fmt: skip


def test_what_remains_decides_alike_and_can_be_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, out = written(tmp_path, WIDE, NARROW, AGAIN), tmp_path / "fewer.json"
    assert main([*arguments, "--out", str(out), "--json"]) == ExitCode.NO
    assert len(json.loads(capsys.readouterr().out)["proposals"]) == 2
    before, after = (f"{tmp_path / name},{tmp_path / 'roles.json'}" for name in ("policies.json", out.name))
    assert main(["policies", "diff", before, after, "--fail-on", "any"]) == 0
    assert [one["name"] for one in json.loads(out.read_text(encoding="utf-8"))["policies"]] == ["orders", "sales"]
    assert main(["policies", "lint", "--propose", "--policies", after]) == ExitCode.OK
    assert "nothing to propose" in capsys.readouterr().out


def test_grants_of_the_sync_job_stay(tmp_path: Path) -> None:
    guid = grant_guid("cdap", entity_id("dataset", ("ns1", "kv")), 1)
    levels = {"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"]}, "dataset": {"values": ["kv"]}}
    given = {"users": ["alice"], "accesses": [{"type": name} for name in ("read", "write", "admin", "execute")]}
    grant: Json = {
        "id": 9, "guid": guid, "name": f"alice created kv (1, {guid[:8]})", "policyLabels": [CREATORS_LABEL],
        "resources": levels, "additionalResources": [levels], "policyItems": [given],
    }  # fmt: skip
    same = policy(4, {"namespace": "ns1", "dataset": "k*"}, item("read", "write", "admin", "execute", users=["alice"]))
    assert main(written(tmp_path, same, grant)) == ExitCode.OK


def test_an_item_without_effect_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    denied = policy(5, ORDERS, item("read", users=["eve"]), denyPolicyItems=[item("read", users=["eve"])])
    assert main(written(tmp_path, denied)) == ExitCode.NO
    assert "nothing: it has no effect" in capsys.readouterr().out


def test_names_of_policies_do_no_harm_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = [policy(n, ORDERS, item("read", groups=[EVIL]), name=f"{EVIL}{n}") for n in (1, 2)]
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
    assert main(["policies", "lint", "--propose", "--policies", str(path)]) != ExitCode.NO
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown


def test_a_file_that_cannot_be_written_ends_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = written(tmp_path, WIDE, NARROW)
    assert main([*arguments, "--out", str(tmp_path / "missing" / "x.json")]) == ExitCode.INVALID_INPUT
    assert "cannot be written" in capsys.readouterr().err


# --- too wide ---------------------------------------------------------------------------------------------------------

HEADER: Json = {"v": 1, "instance": "cdap", "taken": "2026-11-01T00:00:00Z"}


def command(folder: Path, *policies: Json, entities: str | None = None) -> list[str]:
    lines: list[Json] = [HEADER, {"type": "namespace", "parts": ["ns1"]}]
    lines += [{"type": "dataset", "parts": ["ns1", name]} for name in ("sales.orders", "sales.items", "stock")]
    text = "\n".join(map(json.dumps, lines)) if entities is None else entities
    (folder / "entities.jsonl").write_text(text, encoding="utf-8")
    return [*written(folder, *policies), "--inventory", str(folder / "entities.jsonl")]


def on(dataset: str, **more: Any) -> Json:
    return policy(1, {"namespace": "ns1", "dataset": dataset}, item("read", groups=["analysts"]), name="sales", **more)


@pytest.mark.parametrize(
    ("dataset", "said"),
    [("s*", "enough is sales.items, sales.orders, stock"), ("hr*", "covers 0 entities; enough is nothing")],
)
def test_it_names_what_would_be_enough(
    dataset: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(tmp_path, on(dataset))) == ExitCode.NO
    assert said in " ".join(capsys.readouterr().out.split())


def test_types_without_entities_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    programs = policy(2, {"namespace": "ns1", "application": "a*", "program": "w*"}, item("execute", users=["eve"]))
    assert main(command(tmp_path, programs)) == ExitCode.OK
    assert "not judged: program" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("entities", "message"),
    [
        ("", "is empty"),
        (json.dumps(HEADER), "lists no entities"),
        ("not json", "line 1"),
        ('{"type":"dataset","parts":["ns1"]}', "line 1"),
        (json.dumps(HEADER) + '\n{"type":"dataset","parts":["ns1"]}', "line 2"),
        ('{"v":1,"instance":"other","taken":"2026-11-01T00:00:00Z"}\n{"type":"namespace","parts":["a"]}', "other"),
    ],
)
def test_an_inventory_that_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], entities: str, message: str
) -> None:
    assert main(command(tmp_path, on("s*"), entities=entities)) == ExitCode.INVALID_INPUT
    assert message in capsys.readouterr().err


# --- levels that exclude everything -----------------------------------------------------------------------------------


def test_a_policy_of_the_predecessor_ends_where_it_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = policy(1, {"namespace": "ns1", "dataset": "*"}, item("read", users=["eve"]), name="old")
    old["resources"]["dataset"]["isExcludes"] = True
    out = tmp_path / "after.json"
    assert main([*written(tmp_path, old), "--out", str(out)]) == ExitCode.NO
    assert "old resources rewrite it ends at its namespace, without dataset" in " ".join(
        capsys.readouterr().out.split()
    )
    (after,) = json.loads(out.read_text(encoding="utf-8"))["policies"]
    assert set(after["resources"]) == {"instance", "namespace"}
    assert main(["policies", "lint", "--propose", "--policies", str(out)]) == ExitCode.OK
