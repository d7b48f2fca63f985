"""`tests/laws.toml` names each law once, a test that exists and a fault that can be planted; `make laws` plants it."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.planted_faults import NEEDS, ROOT, Law, laws

LAWS = laws()
each_law = pytest.mark.parametrize("law", LAWS, ids=[law["law"] for law in LAWS])
PACKAGES = ("ranger_cdap", "servicedef", "spark_sync")


def functions(path: Path) -> set[str]:
    """The functions of a file, also those of its classes."""
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def test_a_law_has_one_name() -> None:
    assert [name for name, count in Counter(law["law"] for law in LAWS).items() if count > 1] == []


@each_law
def test_the_test_of_a_law_exists(law: Law) -> None:
    file, _, name = law["test"].partition("::")
    assert name.startswith("test_")
    assert name in functions(ROOT / file)


@each_law
def test_the_fault_of_a_law_can_be_planted(law: Law) -> None:
    file = ROOT / law["file"]
    text = file.read_text(encoding="utf-8")
    faulty = text.replace(law["old"], law["new"])
    assert file.relative_to(ROOT).parts[0] in PACKAGES
    assert law.get("needs", "java") in NEEDS
    assert text.count(law["old"]) == 1
    assert faulty != text
    parse = {".py": ast.parse, ".toml": tomllib.loads}[file.suffix]
    assert parse(faulty)
