"""Whatever comments, docstrings, data and pages cite is in the repository; nothing cites what stands beside it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from tests.docs.citations import Passage, files, lost, outside, passages
from tests.docs.markdown_pages import ROOT

# These say what is looked for.
FILES = [path for path in files() if path.name not in ("citations.py", Path(__file__).name)]
FOLDERS = sorted({str(path.relative_to(ROOT).parent) for path in FILES})


def passages_of(folder: str) -> Iterator[Passage]:
    return chain.from_iterable(passages(path) for path in FILES if str(path.relative_to(ROOT).parent) == folder)


@pytest.mark.parametrize("folder", FOLDERS)
def test_everything_cited_is_in_the_repository(folder: str) -> None:
    assert {str(passage): said for passage in passages_of(folder) if (said := lost(passage))} == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_beside_the_repository_is_cited(folder: str) -> None:
    assert {str(passage): said for passage in passages_of(folder) if (said := outside(passage))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "as cdap-facts.md §3.6 says",
        "docs/reference/cdap-facts.md §3.1 and §4.6",
        "architecture.md, decision 8",
        "see glossary.md#rangers-terms",
        'architecture.md, "Invariants"',
        "in `tests/docs/citations.py` and `tests/docs/`",
        "by `tests/docs/test_citations.py::test_a_citation_that_holds`",
        "`some/other` folder, `docs/<kind>/`, and *.md",
    ],
)
def test_a_citation_that_holds(text: str) -> None:
    assert lost(Passage("sample.py", 1, text)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("as cdap-facts.md §3.99 says", ["cdap-facts.md §3.99"]),
        ("cdap-facts.md §3.1, §3.99", ["cdap-facts.md §3.1, §3.99"]),
        ("architecture.md, decision 88", ["architecture.md, decision 88"]),
        ("glossary.md#nothing", ["glossary.md#nothing"]),
        ('architecture.md, "What may happen"', ['architecture.md, "What may happen"']),
        ("no-such-page.md §1", ["no-such-page.md §1"]),
        ("docs/how-to/no-such-page.md", ["docs/how-to/no-such-page.md"]),
        ("in `tests/docs/no_such_file.py`", ["tests/docs/no_such_file.py"]),
        ("by `tests/docs/test_citations.py::test_nothing`", ["tests/docs/test_citations.py::test_nothing"]),
    ],
)
def test_a_citation_of_something_that_is_not_there_is_found(text: str, expected: list[str]) -> None:
    assert lost(Passage("sample.py", 1, text)) == expected


def test_a_wrong_section_of_a_page_in_itself_is_found() -> None:
    assert lost(Passage("docs/reference/cdap-facts.md", 1, "rule 12 of §3.1, and §3.99")) == ["§3.99"]


@pytest.mark.parametrize(
    "text",
    [
        "(policy-engine.md, 5.4)",
        "reference ranger/admin.md",
        "shared/reference/cdap/enforce-calls.jsonl",
        "reference: CDAP facts, section 4.1",
        "CDAP facts, 3.6",
        "each story of cdap.md 4.6",
        "(design 5.14)",
        "Source: design, section 4.",
        "(design: a decision)",
    ],
)
def test_a_citation_of_what_stands_beside_the_repository_is_found(text: str) -> None:
    assert outside(Passage("sample.py", 1, text))


def test_comments_and_docstrings_are_read() -> None:
    path = ROOT / "tests" / "docs" / "citations.py"
    assert any("The law" in passage.text for passage in passages(path))
    assert any("beside the repository" in passage.text for passage in passages(path))
