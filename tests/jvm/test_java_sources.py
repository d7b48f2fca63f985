"""The Java sources have one form, which no formatter of the build holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for path in (ROOT / "jvm").rglob("*.java") if "target" not in path.parts)
IMPORT = re.compile(r"^import (static )?([\w.]+);$", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
QUALIFIED = re.compile(r"\b(?:java|javax|io\.cdap|org|com)\.[a-z][\w.]*\.[A-Z]\w*")


def code_of(text: str) -> str:
    """What is neither import, package nor comment."""
    return COMMENT.sub("", re.sub(r"^(import|package) .*$", "", text, flags=re.MULTILINE))


def test_there_are_sources_to_look_at() -> None:
    assert len(SOURCES) > 30


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_lines_are_short_and_indented_by_two(source: Path) -> None:
    lines = source.read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if len(line) > 120] == []
    assert [line for line in lines if line != line.rstrip() or "\t" in line] == []
    indented = [re.match(r" *", line)[0] for line in lines if not re.match(r" *\*", line)]  # type: ignore[index]
    assert [blanks for blanks in indented if len(blanks) % 2] == []
    assert min(filter(None, indented), key=len) == "  "


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_imports_are_used_in_order_and_instead_of_long_names(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    imports = IMPORT.findall(text)
    code = code_of(text)

    assert [name for _, name in imports if not re.search(rf"\b{name.rpartition('.')[2]}\b", code)] == []
    for static in ("static ", ""):
        names = [name for kind, name in imports if kind == static]
        assert names == sorted(names)
    assert QUALIFIED.findall(re.sub(r'"[^"\n]*"', '""', code)) == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_type_says_what_it_is(source: Path) -> None:
    assert re.search(r"\*/\n(?:@\w+\n)*(?:public )?(?:final )?class ", source.read_text(encoding="utf-8"))
