"""The house style of names and texts that a machine can hold: CONTRIBUTING.md, "Words"."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs.markdown_pages import ROOT, pages, prose_of

SOURCES = sorted(path for top in ("ranger_cdap", "spark_sync", "servicedef") for path in (ROOT / top).rglob("*.py"))
DOCS = [page for page in pages() if page.name != "CHANGELOG.md"]

BEGINNING = re.compile(r"\W*(What|Whom|Whose|Whoever|So much|So many|Nobody|Somebody|Whether|How|Who)\b")
PEOPLE = re.compile(r"\b(he|him|his|himself|nobody|whoever|somebody)\b", re.IGNORECASE)
# Code in backticks, and speech in quotation marks.
QUOTED = re.compile(r"`[^`]*`|\"[^\"\n]*\"|“[^”]*”|\*[^*\n]+\*")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield node.body[0].lineno, text


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings, messages and comments below fields: every string constant of several words."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") > 1:
            yield node.lineno, node.value


def test_a_class_name_means_one_thing() -> None:
    places = defaultdict(list)
    for path in SOURCES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(place(path, node.lineno))

    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_a_docstring_begins_with_a_verb_or_a_noun_phrase() -> None:
    found = [(path, line, text) for path in SOURCES for line, text in docstrings(path) if BEGINNING.match(text)]

    assert [f"{place(path, line)}: {text.splitlines()[0]}" for path, line, text in found] == []


def test_a_text_in_the_code_names_people_as_users_and_callers() -> None:
    found = [
        f"{place(path, line)}: {word[0]}"
        for path in SOURCES
        for line, text in texts(path)
        if (word := PEOPLE.search(QUOTED.sub("", text)))
    ]

    assert found == []


def imported(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def test_nothing_private_is_imported_and_no_protocol_of_a_server() -> None:
    """What a library keeps to itself may change with each version; a guard built on it would be gone without a word."""
    kept = re.compile(r"(^|\.)_(?!_future__)|^(uvicorn|hypercorn|granian)\.")
    found = [f"{place(path, line)}: {name}" for path in SOURCES for line, name in imported(path) if kept.search(name)]

    assert found == []


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_people_as_users_and_callers(page: Path) -> None:
    assert sorted({word[0] for word in PEOPLE.finditer(QUOTED.sub("", prose_of(page)))}) == []


def test_the_name_of_a_test_is_a_rule_in_at_most_80_characters() -> None:
    names = {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }
    assert sorted(name for name in names if len(name) > 80) == []
