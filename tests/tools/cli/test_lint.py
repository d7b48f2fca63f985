"""`ranger-cdap policies lint`: what in the policies does not mean what it seems to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import servicedef
from ranger_cdap.cli.main import main
from ranger_cdap.expressions import EVALUATOR


def download(path: Path, *policies: dict[str, Any], **more: Any) -> str:
    document = {"serviceName": "cdapdev", "policyVersion": 1, "serviceDef": servicedef.service_definition(), **more}
    path.write_text(json.dumps({**document, "policies": list(policies)}))
    return str(path)


def policy(**more: Any) -> dict[str, Any]:
    item = {"users": ["alice"], "accesses": [{"type": "read"}]}
    return {"id": 7, "name": "kv", "resources": {"instance": {"values": ["cdap"]}}, "policyItems": [item], **more}


def test_policies_without_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "lint", "--policies", download(tmp_path / "p.json", policy())]) == 0
    assert capsys.readouterr().out == "no problems found: every part of the policies is effective\n"


def test_each_problem_has_its_policy_place_and_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = {"users": ["bob"], "accesses": [{"type": "read"}], "conditions": [{"type": "js", "values": ["true"]}]}
    path = download(tmp_path / "p.json", policy(denyPolicyItems=[script]))

    assert main(["policies", "lint", "--policies", path]) == 2
    told = capsys.readouterr().out
    assert "7 kv" in told
    assert "denyPolicyItems[0].conditions[0]" in told
    assert "unusable-condition" in told

    assert main(["policies", "lint", "--policies", path, "--json"]) == 2
    (problem,) = json.loads(capsys.readouterr().out)
    assert (problem["policy_id"], problem["code"]) == (7, "unusable-condition")


def test_a_policy_on_the_other_side_of_a_zones_border(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fin9, hr = ({"instance": {"values": ["cdap"]}, "namespace": {"values": [name]}} for name in ("fin9", "hr"))
    of_zone = policy(id=8, name="of the zone", resources=hr)
    zone = {"resources": [{"instance": ["cdap"], "namespace": ["fin*"]}], "policies": [of_zone]}
    path = download(tmp_path / "p.json", policy(resources=fin9), securityZones={"finance": zone})

    assert main(["policies", "lint", "--policies", path, "--json"]) == 2
    found = [one for one in json.loads(capsys.readouterr().out) if one["code"] == "never-in-zone"]
    assert [(one["policy_id"], one["place"]) for one in found] == [(8, "resources"), (7, "resources")]


def test_with_an_inventory_rights_on_what_does_not_exist_are_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "now.jsonl").write_text(
        '{"v":1,"instance":"cdap","taken":"2026-11-21T04:00:00Z"}\n{"type":"namespace","parts":["ns1"]}\n'
    )
    gone = policy(resources={"instance": {"values": ["cdap"]}, "namespace": {"values": ["gone"]}})
    given = ["--policies", download(tmp_path / "p.json", gone), "--inventory", str(tmp_path / "now.jsonl")]
    assert main(["policies", "lint", *given, "--json"]) == 2
    told = capsys.readouterr()
    assert "no-such-entity" in [each["code"] for each in json.loads(told.out)]
    assert "note: the inventory has no application, " in told.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--policies", "nowhere.json"], "`nowhere.json` cannot be read"),
        (["--policies", "https://cdap"], "gives no policies out"),
        (["--policies", "ranger:7@3"], "write `ranger:` alone"),
    ],
)
def test_what_is_no_question_is_one_sentence(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["policies", "lint", *arguments]) == 3
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


def test_a_script_that_is_refused_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kind = {"itemId": 1, "name": "_expression", "evaluator": EVALUATOR}
    definition = servicedef.service_definition()
    definition["policyConditions"] = [*definition.get("policyConditions", ()), kind]
    condition = {"type": "_expression", "values": ["USER.dept = 'eng'"]}
    path = tmp_path / "p.json"
    document = {"serviceName": "cdapdev", "policyVersion": 1, "serviceDef": definition}
    path.write_text(json.dumps({**document, "policies": [policy(conditions=[condition])]}))

    assert main(["policies", "lint", "--policies", str(path), "--json"]) == 2
    (problem,) = json.loads(capsys.readouterr().out)
    assert (problem["place"], problem["code"]) == ("conditions[0]", "unusable-condition")
    assert "`==` compares: it allows nothing, and denials apply" in problem["message"]
