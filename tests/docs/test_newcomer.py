"""A newcomer finds ten changes from CONTRIBUTING.md: each file exists, and has the name to look for."""

from __future__ import annotations

import re

import pytest

from tests.docs.markdown_pages import ROOT, text_of

_SECTION = text_of(ROOT / "CONTRIBUTING.md").split("### Ten changes, found from the tree\n")[1].split("\n#")[0]
ROWS = re.findall(r"^\| ([^|]+) \| `([^`]+)` \| `([^`]+)` \|$", _SECTION, re.MULTILINE)


def test_there_are_ten_changes_in_ten_files() -> None:
    assert len({change for change, _, _ in ROWS}) == len({path for _, path, _ in ROWS}) == 10


@pytest.mark.parametrize(("change", "path", "name"), ROWS)
def test_the_file_of_a_change_has_the_name_to_look_for(change: str, path: str, name: str) -> None:
    assert name in (ROOT / path).read_text(encoding="utf-8"), change
