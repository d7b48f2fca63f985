"""The page of the flows on a real Ranger Admin names every flow, and claims a run only with version, day and commit."""

from __future__ import annotations

import re

import pytest

from tests.docs.markdown_pages import ROOT

PAGE = ROOT / "docs" / "how-to" / "test-with-a-real-ranger.md"
FLOWS = ROOT / "tests" / "real_ranger"
ROWS = re.findall(r"^\| ([^|]+) \| `(test_\w+\.py)` \| ([^|]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
RUN = re.compile(r"none recorded|\d+\.\d+\.\d+, 20\d\d-\d\d-\d\d, [0-9a-f]{8,40}")


def test_every_flow_has_its_row() -> None:
    assert sorted(file for _, file, *_ in ROWS) == sorted(path.name for path in FLOWS.glob("test_*.py"))


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_run_on_a_real_ranger_is_named_by_version_day_and_commit(row: tuple[str, ...]) -> None:
    assert RUN.fullmatch(row[2])


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_what_is_said_to_run_in_ci_is_marked_for_a_real_ranger_only_there(row: tuple[str, ...]) -> None:
    """The parameter `real` has the mark; on the embedded server nothing is skipped."""
    text = (FLOWS / row[1]).read_text("utf-8")
    assert "pytest.mark.real_ranger" not in text
    assert "skip" not in text
