"""A function that needs one table of the settings gets that table, and not all settings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BY_SIGNATURE = {
    "_file_sink": "a factory of audit sinks",
    "_hdfs_sink": "a factory of audit sinks",
    "_by_password": "a row of the table of secrets",
    "ranger_cdap_doctor_checks": "a hook",
}
"""Functions whose parameters others determine."""


def needless(source: str) -> Iterator[str]:
    """Yield the functions with all settings that read at most one table of them, and pass them on to none."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        names = {a.arg for a in arguments if a.annotation is not None and ast.unparse(a.annotation) == "Settings"}
        nodes = [node for statement in function.body for node in ast.walk(statement)]
        used = [node for node in nodes if isinstance(node, ast.Name) and node.id in names]
        read = [node for node in nodes if isinstance(node, ast.Attribute) and node.value in used]
        if names and len(used) == len(read) and len({node.attr for node in read}) <= 1:
            yield function.name


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return settings.sync.state_dir", True),
        ("sync = settings.sync; return sync.sources, settings.sync.state_dir", True),
        ("return 1", True),
        ("return settings.sync, settings.cdap", False),
        ("return other(settings)", False),
        ("return settings.sync, other(settings)", False),
    ],
)
def test_the_search_finds_what_it_is_for(body: str, found: bool) -> None:
    assert list(needless(f"def f(settings: Settings):\n    {body}")) == ["f"] * found


def test_a_function_gets_the_part_of_the_settings_that_it_needs() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for top in ("ranger_cdap", "spark_sync")
        for path in (ROOT / top).rglob("*.py")
        for name in needless(path.read_text())
        if name not in BY_SIGNATURE
    }
    assert found == set()
