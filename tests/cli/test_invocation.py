"""What every command prints: names come out as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.tree import Tree

from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.main import main


@pytest.mark.parametrize("name", ["dataset:a:b", "namespace::cat:", "[bold]x[/bold]", "artifact:ns1.[link]"])
def test_a_name_is_neither_picture_nor_markup(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    invocation = Invocation()
    invocation.console.print(name)
    invocation.print_table(["name"], [[name]])
    invocation.messages.print(name)

    captured = capsys.readouterr()
    assert captured.out.count(name) == 2
    assert name in captured.err


def test_a_tree_loses_nothing_on_a_narrow_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    words = [f"word{n}" for n in range(50)]
    tree = Tree("root")
    tree.add("leaf").add(" ".join(words))
    invocation = Invocation()
    invocation.console.width = 30
    invocation.print_tree(tree)
    out = capsys.readouterr().out
    assert [word for word in out.split() if word.startswith("word")] == words
    assert max(map(len, out.splitlines())) <= 30


def test_a_table_in_a_file_has_no_blanks_at_the_ends_of_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Where it is pasted, and where two are compared, they would be in the way."""
    Invocation().print_table(["name", "groups"], [["alice", "developers"], ["bob", ""]])

    assert capsys.readouterr().out == "name   groups\nalice  developers\nbob\n"


@pytest.mark.parametrize("variable", ["", "nowhere.toml"])
@pytest.mark.parametrize(
    ("call", "instance"),
    [
        (["--config", "a.toml", "config"], "a"),
        (["config", "--config", "a.toml"], "a"),
        (["--config", "a.toml", "config", "--config", "b.toml"], "b"),
        (["--config", "a.toml", "config", "--set", "cdap.instance=c"], "c"),
        (["--set", "cdap.instance=c", "--config", "a.toml", "config"], "c"),
        (["--set", "cdap.instance=c", "config", "--set", "cdap.instance=d", "--config", "a.toml"], "d"),
    ],
)
def test_options_count_before_and_after_the_command_and_the_last_wins(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    call: list[str],
    instance: str,
    variable: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANGER_CDAP_CONFIG", variable)
    for name in ("a", "b"):
        Path(f"{name}.toml").write_text(f'[cdap]\ninstance = "{name}"\n', encoding="utf-8")

    assert main([*call, "--json"]) == 0
    shown = {one["setting"]: one for one in json.loads(capsys.readouterr().out)["settings"]}
    assert shown["cdap.instance"]["value"] == instance
