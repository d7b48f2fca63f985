"""The page of twenty questions: each has a short answer that leads on, and other names that people search for."""

from __future__ import annotations

import re
from typing import Final

from tests.docs.markdown_pages import ROOT, text_of

PAGE: Final = ROOT / "docs" / "how-to" / "twenty-questions.md"
LONGEST: Final = 300
_SECTION: Final = re.compile(r"^## ([^\n]+)\n\n(?:\(([^)]+)\) )?(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def questions() -> dict[str, tuple[tuple[str, ...], str]]:
    """The other names of each question, and its answer."""
    return {title: (tuple(names.split(", ")), answer) for title, names, answer in _SECTION.findall(text_of(PAGE))}


def test_there_are_twenty_with_other_names_a_short_answer_and_a_way_on() -> None:
    found = questions()
    assert len(found) == 20
    assert {title: len(answer.split()) for title, (_, answer) in found.items() if len(answer.split()) > LONGEST} == {}
    assert [title for title, (names, _) in found.items() if names == ("",)] == []
    leads = re.compile(r"\]\(\S+\)|^ranger-cdap ", re.MULTILINE)
    assert [title for title, (_, answer) in found.items() if not leads.search(answer)] == []
    everything = [*found, *(name for names, _ in found.values() for name in names)]
    assert len(everything) == len(set(everything))
