"""What every command prints: names come out as they are."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.tree import Tree

from ranger_cdap.cli.invocation import FIRST, Invocation
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


_NAMES = st.text("abc-_.*é漢", min_size=1, max_size=60)
_CELLS = st.lists(_NAMES, min_size=1, max_size=4).map(" ".join) | st.just("")
_TABLES = st.integers(1, 5).flatmap(
    lambda count: st.tuples(
        st.lists(_NAMES | st.just(""), min_size=count, max_size=count),
        st.lists(st.lists(_CELLS, min_size=count, max_size=count), min_size=1, max_size=5),
    )
)


@given(st.integers(40, 200), _TABLES, st.booleans())
def test_no_name_is_broken_however_narrow_the_terminal_is(
    width: int, table: tuple[list[str], list[list[str]]], is_terminal: bool
) -> None:
    """Each value of a table is on one line as a whole; lines of a table, not of cards, are within the width."""
    columns, rows = table
    invocation, out = Invocation(), io.StringIO()
    invocation.console.file, invocation.console.width = out, width
    invocation.console._force_terminal = is_terminal
    invocation.console.no_color = True
    with redirect_stdout(out):
        invocation.print_table(columns, rows)
    plain = re.sub("\x1b\\[[0-9;]*m", "", out.getvalue())
    values, lines = [value for row in rows for value in row if value], plain.splitlines()
    assert [value for value in values if value not in plain] == []
    assert len(lines) == len(values) + len(rows) - 1 or max(map(cell_len, lines)) <= width


@given(st.integers(40, 120), st.lists(_CELLS, min_size=1, max_size=6))
def test_no_name_in_a_tree_is_broken(width: int, leaves: list[str]) -> None:
    tree = top = Tree("root")
    for leaf in leaves:
        top = top.add(leaf)
    invocation, out = Invocation(), io.StringIO()
    invocation.console.file, invocation.console.width = out, width
    invocation.print_tree(tree)
    words = [word for leaf in leaves for word in leaf.split()]
    assert [word for word in re.split(r"[\s│├└─]+", out.getvalue()) if word not in ("", "root")] == words
    assert invocation.console.width == width


def test_a_table_in_a_file_has_no_blanks_at_the_ends_of_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Where it is pasted, and where two are compared, they would be in the way."""
    Invocation().print_table(["name", "groups"], [["alice", "developers"], ["bob", ""]])

    assert capsys.readouterr().out == "name   groups\nalice  developers\nbob\n"


_KINDS = st.dictionaries(st.sampled_from(["granted", "revoked", "blocked"]), st.integers(0, 2 * FIRST + 3), max_size=3)


@given(_KINDS, st.booleans(), st.randoms(use_true_random=False))
def test_the_first_of_each_kind_are_printed_in_order_and_the_others_counted(
    counts: dict[str, int], shows_all: bool, chance: Random
) -> None:
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    chance.shuffle(kinds)
    rows = [[kind, f"entity{n}"] for n, kind in enumerate(kinds)]
    invocation = Invocation()
    invocation.shows_all = shows_all
    with redirect_stdout(io.StringIO()) as out:
        invocation.print_first(["change", "entity"], rows)
    printed = [line.split() for line in out.getvalue().splitlines() if " entity" in line and "change" not in line]
    told = re.findall(r"(\d+) more (\w+)", out.getvalue())

    assert printed == [row for n, row in enumerate(rows) if shows_all or kinds[:n].count(row[0]) < FIRST]
    left = {kind: kinds.count(kind) - FIRST for kind in kinds if kinds.count(kind) > FIRST and not shows_all}
    assert {kind: int(count) for count, kind in told} == left


@given(st.dictionaries(st.text(), st.one_of(st.integers(), st.lists(st.dictionaries(st.text(), st.text())))))
def test_a_document_by_line_is_the_document_with_each_element_on_a_line(document: dict[str, Any]) -> None:
    with redirect_stdout(io.StringIO()) as out:
        streamed = {key: iter(each) if isinstance(each, list) else each for key, each in document.items()}
        Invocation().print_json_by_line(streamed)
    text = out.getvalue()

    assert json.loads(text) == document
    elements = [json.dumps(each) for value in document.values() if isinstance(value, list) for each in value]
    lines = text.splitlines()
    assert all(any(line.startswith(element) for line in lines) for element in elements)
    full = sum(isinstance(value, list) and bool(value) for value in document.values())
    assert len(lines) == 2 + len(document) + len(elements) + full


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
