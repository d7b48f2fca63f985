"""`ranger-cdap policies diff`: the access that a change adds and removes, in each format."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.tools.analysis.row_resource import MAX_CANDIDATES
from tests.cli.fixtures import COMPANY, ROLES, download, item, policy

Json = dict[str, Any]
EVIL = "ana|lysts\n[red]`x`@team\x1b[2J<b>"


def files(folder: Path, old: Json, new: Json) -> list[str]:
    for name, content in (("old.json", old), ("new.json", new), ("roles.json", ROLES)):
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return [
        "policies", "diff", str(folder / "old.json"), f"{folder / 'new.json'},{folder / 'roles.json'}",
    ]  # fmt: skip


def company(**changes: Any) -> Json:
    """The company's download, with fields of policy 2 replaced."""
    policies = copy.deepcopy(list(COMPANY))
    policies[1] |= changes
    return download(policies)


def widened(group: str = "analysts") -> Json:
    more = policy(20, {"namespace": "ns1", "dataset": "sales.*"}, item("write", groups=[group]), name="sales")
    return download([*COMPANY, more])


def test_the_same_policies_have_no_impact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*files(tmp_path, company(), company(version=9)), "--fail-on", "any"]) == ExitCode.OK
    assert capsys.readouterr().out == "no access changes\n"


def test_a_row_says_who_gains_what_where_and_by_which_item(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(files(tmp_path, company(), widened())) == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "group analysts gains write on dataset:ns1.sales.*",
        '  by policy 20 "sales", allow item 1',
    ]
    assert lines[-1].startswith("  for example someone in analysts: write on dataset:ns1.sales.")


def test_a_removed_denial_is_a_gain_of_those_it_denied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*files(tmp_path, company(), company(denyPolicyItems=[])), "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    examples = [example for row in found["gained"] for example in row["examples"].values()]
    assert {(example["user"], example["access"]) for example in examples} == {("mallory", "read")}
    assert found["lost"] == []
    assert all(row["undecided"] == [] for row in found["gained"])


def test_a_role_stands_for_its_members(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = company(policyItems=[*COMPANY[1]["policyItems"], item("execute", roles=["ops"])])
    assert main([*files(tmp_path, company(), new), "--json"]) == ExitCode.OK
    (row,) = json.loads(capsys.readouterr().out)["gained"]
    (example,) = row["examples"].values()
    assert row["who"] == ["role ops"]
    assert example["user"] == "olga" or "oncall" in example["groups"]
    assert "roles" not in example


@pytest.mark.parametrize(
    ("fail_on", "code", "code_reversed"),
    [("gained", ExitCode.ACCESS_CHANGED, 0), ("lost", 0, ExitCode.ACCESS_CHANGED), ("any", 6, 6)],
)
def test_fail_on_decides_the_exit_code(tmp_path: Path, fail_on: str, code: int, code_reversed: int) -> None:
    assert main([*files(tmp_path, company(), widened()), "--fail-on", fail_on]) == code
    assert main([*files(tmp_path, widened(), company()), "--fail-on", fail_on]) == code_reversed


def test_only_the_access_types_asked_for_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = files(tmp_path, company(), widened())
    assert main([*arguments, "--access", "read", "--fail-on", "any"]) == ExitCode.OK
    assert main([*arguments, "--access", "write", "--fail-on", "any"]) == ExitCode.ACCESS_CHANGED
    assert main([*arguments, "--access", "raed"]) == ExitCode.INVALID_INPUT
    assert "there is no access type `raed`" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["serviceName", "type"])
def test_policies_of_another_service_are_refused_with_both_names(
    tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = company()
    if what == "type":
        other["serviceDef"] = {**other["serviceDef"], "name": "hive"}
    else:
        other["serviceName"] = "hive"
    assert main(files(tmp_path, company(), other)) == ExitCode.INVALID_INPUT
    error = capsys.readouterr().err
    assert (
        f"old.json` are {'of service `cdapdev`' if what == 'serviceName' else 'for the service type `cdap`'}" in error
    )
    assert "`hive`" in error


def test_a_line_fits_80_columns_and_no_name_acts_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(files(tmp_path, company(), widened(EVIL * 3))) == ExitCode.OK
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[2J" in out
    assert all(len(line) <= 80 or len(line.split()) == 1 for line in out.splitlines())
    assert not any(line.startswith("[red]") for line in out.splitlines())


def test_no_name_ends_a_cell_of_markdown_formats_links_or_notifies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*files(tmp_path, company(), widened(EVIL)), "--format", "markdown"]) == ExitCode.OK
    out = capsys.readouterr().out
    rows = [line for line in out.splitlines() if line.startswith("| group")]
    assert len(rows) == 1
    assert rows[0].replace("\\|", "").count("|") == 6
    assert not {"@", "<b>", "\x1b"} & {part for part in ("@", "<b>", "\x1b") if part in out}
    assert "\\`x\\`" in out


def test_a_condition_is_named_and_its_witness_fulfils_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = company(), widened()
    evaluator = "org.apache.ranger.plugin.conditionevaluator.RangerIpMatcher"
    for each in (old, new):
        conditions = [{"itemId": 1, "name": "ip-range", "evaluator": evaluator}]
        each["serviceDef"] = {**each["serviceDef"], "policyConditions": conditions}
    new["policies"][-1]["policyItems"][0]["conditions"] = [{"type": "ip-range", "values": ["10.1.*"]}]
    assert main([*files(tmp_path, old, new), "--json"]) == ExitCode.OK
    (row,) = json.loads(capsys.readouterr().out)["gained"]
    assert row["conditions"] == ["from 10.1.*"]
    assert row["examples"]["write"]["client_ip"].startswith("10.1.")


def denying(dataset: str, *denied: Json, group: str = "analysts") -> tuple[Json, Json]:
    """A set in which a group reads datasets except where others deny it, and the set without the denials."""
    reading = policy(20, {"namespace": "ns1", "dataset": dataset}, item("read", groups=[group]), name="reading")
    return download([reading, *denied]), download([reading])


def denial(number: int, *datasets: str) -> Json:
    found = policy(number, {"namespace": "ns1", "dataset": "x"}, denyPolicyItems=[item("read", groups=["analysts"])])
    return {**found, "resources": {**found["resources"], "dataset": {"values": list(datasets)}}}


NARROWED = {
    "one value": (("?*", [denial(21, "salaries")]), "salaries", False),
    "values of several policies": (
        ("?*", [denial(21, "salaries"), denial(22, "bonus")]),
        "bonus, dataset:ns1.salaries",
        False,
    ),
    "a wildcard within another": (("s*", [denial(21, "sal*")]), "sal*", False),
    "a wildcard instead of a value that it covers": (
        ("?*", [denial(21, "salaries", "x"), denial(22, "sal*")]),
        "x, dataset:ns1.sal*",
        False,
    ),
    "a value of a list": (("?*", [denial(21, "salaries", "bonus")]), "bonus, dataset:ns1.salaries", False),
    "only values that the item covers": (("s*", [denial(21, "salaries", "bonus")]), "salaries", False),
    "no wildcard that goes beyond": (("s*", [denial(21, "*s")]), "s*", True),
    "all of it": (("salaries", [denial(21, "*")]), "salaries", False),
}


@pytest.mark.parametrize("name", NARROWED)
def test_a_row_is_about_the_part_that_changes(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (dataset, denied), narrowed, partial = NARROWED[name]
    old, new = denying(dataset, *denied)
    assert main([*files(tmp_path, old, new), "--json"]) == ExitCode.OK
    (row,) = json.loads(capsys.readouterr().out)["gained"]
    assert main(files(tmp_path, old, new)) == ExitCode.OK
    first, by, *_ = capsys.readouterr().out.replace("\n    ", " ").splitlines()
    assert first == f"group analysts gains read on dataset:ns1.{narrowed}"
    assert (row["item_resource"] or row["resource"]) == f"dataset:ns1.{dataset.replace('?*', '*')}"
    assert row["partial"] is partial
    assert ("which is on" in by) == bool(row["item_resource"])


def test_a_row_has_no_exceptions_from_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here, there = denial(22, "salaries"), denial(23, "bonus")
    here["denyPolicyItems"] = [item("read", users=["u"])]
    old, _ = denying("?*", denial(21, "salaries"), here, there)
    new, _ = denying("?*", here, there)
    assert main([*files(tmp_path, old, new), "--json"]) == ExitCode.OK
    (row,) = json.loads(capsys.readouterr().out)["gained"]
    assert row["except"] == ['policy 22 "p22", deny item 1 (user u)']


def test_a_change_of_more_values_than_are_tried_names_the_item_s_resource(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = denying("?*", denial(21, *(f"d{n}" for n in range(MAX_CANDIDATES + 1))))
    assert main([*files(tmp_path, old, new), "--json"]) == ExitCode.OK
    (row,) = json.loads(capsys.readouterr().out)["gained"]
    assert (row["resource"], row["item_resource"], row["partial"]) == ("dataset:ns1.*", "", True)


def test_a_row_names_all_who_gain_any_of_its_access_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = {"namespace": "ns1", "dataset": "d"}
    old = download([policy(20, place, item("read", groups=["analysts"]))])
    new = download([policy(20, place, item("read", "write", groups=["analysts", "interns"]))])
    assert main([*files(tmp_path, old, new), "--json"]) == ExitCode.OK
    (row,) = json.loads(capsys.readouterr().out)["gained"]
    assert (row["who"], row["accesses"]) == (["group analysts", "group interns"], ["read", "write"])
