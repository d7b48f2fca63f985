"""Benchmarks say how they are run, and pages name only those and only options that there are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest
from pages.commands import commands

from ranger_cdap.cli.common_options import COMMON_OPTIONS
from ranger_cdap.cli.main import command_line
from tests.docs.markdown_pages import ROOT, pages, text_of

BENCHMARKS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.py")}
RUN = {name for name, source in BENCHMARKS.items() if '__name__ == "__main__"' in source}
CALLED = re.compile(r"python -m (benchmarks\.\w+)((?: [^`\n]*)?)")
OPTION = re.compile(r"(?<!\S)--[a-z][a-z-]*")
CODE = re.compile(r"`([^`\n]+)`")
OF_COMMANDS = {
    option
    for _, command in commands(command_line())
    for param in (*command.params, *COMMON_OPTIONS)
    if isinstance(param, click.Option)
    for option in param.opts
}


def options_of(source: str) -> set[str]:
    """What a benchmark adds to its argument parser."""
    return {
        argument.value
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def lost(text: str) -> set[str]:
    """The benchmarks and options named in a text that do not exist."""
    called = {module.partition(".")[2] for module, _ in CALLED.findall(text)}
    known = OF_COMMANDS.union(*(options_of(BENCHMARKS.get(name, "")) for name in called))
    named = {option for code in CODE.findall(text) for option in OPTION.findall(code)} if called else set()
    return (called - RUN) | (named - known)


NAMING = [page for page in pages() if CALLED.search(text_of(page))]


@pytest.mark.parametrize("page", NAMING, ids=lambda page: page.name)
def test_a_page_names_benchmarks_and_options_that_there_are(page: Path) -> None:
    assert lost(text_of(page)) == set()


def test_each_part_of_the_page_on_speed_says_how_it_was_measured() -> None:
    parts = re.split(r"^## ", text_of(ROOT / "docs" / "decisions" / "speed.md"), flags=re.MULTILINE)[1:]
    assert len(parts) > 3
    assert [part.splitlines()[0] for part in parts if not CALLED.search(part)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`python -m benchmarks.bulk` with `--lines 1 2`", set()),
        ("`python -m benchmarks.bulk --lines 5 --follow 5`", set()),
        ("`python -m benchmarks.workload`", {"workload"}),
        ("`python -m benchmarks.sink` with `--events 1`", {"sink", "--events"}),
        ("`python -m benchmarks.engine` with `--evens 1`", {"--evens"}),
    ],
)
def test_what_there_is_not_would_be_found(text: str, expected: set[str]) -> None:
    assert lost(text) == expected


@pytest.mark.parametrize("name", sorted(RUN - {"engine_alone"}))
def test_a_benchmark_says_how_it_is_run_and_what_its_options_are(name: str) -> None:
    source = BENCHMARKS[name]
    said = ast.get_docstring(ast.parse(source)) or ""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert f"`python -m benchmarks.{name}`" in said
    assert ("`make bench`" in said) == (f"-m benchmarks.{name}" in recipe)
    assert "description=__doc__" in source
