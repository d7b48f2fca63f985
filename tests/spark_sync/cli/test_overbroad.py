"""`ranger-cdap overbroad`: wildcards that cover more than CDAP's entities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from tests.cli.fixtures import download, item, policy

Json = dict[str, Any]
HEADER: Json = {"v": 1, "instance": "cdap", "taken": "2026-11-01T00:00:00Z"}
EVIL = "x\n[red]y\x1b[2J"


def command(folder: Path, *policies: Json, entities: str | None = None) -> list[str]:
    (folder / "policies.json").write_text(json.dumps(download(list(policies))), encoding="utf-8")
    lines: list[Json] = [HEADER, {"type": "namespace", "parts": ["ns1"]}]
    lines += [{"type": "dataset", "parts": ["ns1", name]} for name in ("sales.orders", "sales.items", "stock")]
    text = "\n".join(map(json.dumps, lines)) if entities is None else entities
    (folder / "entities.jsonl").write_text(text, encoding="utf-8")
    return ["overbroad", "--inventory", str(folder / "entities.jsonl"), "--policies", str(folder / "policies.json")]


def on(dataset: str, **more: Any) -> Json:
    return policy(1, {"namespace": "ns1", "dataset": dataset}, item("read", groups=["analysts"]), name="sales", **more)


def test_it_names_what_would_be_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(tmp_path, on("s*"))) == ExitCode.NO
    shown = capsys.readouterr().out
    assert '1 "sales"' in shown
    assert "sales.items, sales.orders, stock" in shown
    assert "group analysts" in shown


def test_with_few_names_a_longer_beginning_is_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command(tmp_path, on("sa*")), "--most", "1", "--json"]) == ExitCode.NO
    (one,) = json.loads(capsys.readouterr().out)["values"]
    assert (one["entities"], one["enough"]) == (2, ["sales.*"])


def test_what_covers_no_entity_is_for_those_to_come(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(tmp_path, on("hr*"))) == ExitCode.NO
    assert "nothing: it covers no entity" in capsys.readouterr().out


def test_nothing_is_too_wide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command(tmp_path, on("s*"), on("?*")), "--most", "1"]) == ExitCode.OK
    assert "no value is too wide" in capsys.readouterr().out


def test_types_without_entities_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    programs = policy(2, {"namespace": "ns1", "application": "a*", "program": "w*"}, item("execute", users=["eve"]))
    assert main(command(tmp_path, programs)) == ExitCode.OK
    assert "the inventory has no program" in capsys.readouterr().err


def test_names_do_no_harm_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = policy(1, {"namespace": "ns1", "dataset": "st*"}, item("read", groups=[EVIL]), name=EVIL)
    assert main(command(tmp_path, evil)) == ExitCode.NO
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 2


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
