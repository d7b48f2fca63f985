"""Each claim of the threat model names a test, and each test it names is there."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.docs.markdown_pages import ROOT, text_of

PAGE = ROOT / "docs" / "explanation" / "threat-model.md"
NAMED = list(dict.fromkeys(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text_of(PAGE))))
WITHOUT_TESTS = {"Assets", "Impact of compromise"}


@cache
def functions_of(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[f"{path}::{name}" for path, name in NAMED])
def test_the_named_test_is_there(path: str, name: str) -> None:
    assert (name or next(iter(functions_of(path)))) in functions_of(path)


def test_every_claim_names_a_test() -> None:
    """Rows of the tables that say what happens; the impact of a compromise names one where something is promised."""
    unproved = [
        row
        for section in re.split(r"^## ", text_of(PAGE), flags=re.MULTILINE)[1:]
        if section.splitlines()[0] not in WITHOUT_TESTS
        for row in re.findall(r"^\|.*\|$", section, re.MULTILINE)[2:]
        if "`tests/" not in row
    ]
    assert unproved == []
    assert len(NAMED) > 70
