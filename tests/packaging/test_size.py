"""The size of the product is what `.ci/size/` says, and no limit of it is passed."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

from tests.docs.markdown_pages import ROOT

CEILING: Final = {
    "statements": 33_403,
    "commands": 45,
    "options": 132,
    "settings": 151,
    "functions above 15 branches": 0,
    "files above 400 lines": 4,
}
"""What a change adds, it takes elsewhere: these numbers only fall."""


def committed() -> dict[str, int]:
    lines = (ROOT / ".ci" / "size" / "table.txt").read_text(encoding="utf-8").splitlines()
    rows = (line.strip().partition("  ") for line in lines)
    return {name: int(count.replace(",", "")) for count, _, name in rows}


def test_the_committed_size_is_that_of_the_tree() -> None:
    found = subprocess.run([sys.executable, ".ci/size.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize("name", CEILING)
def test_a_number_is_at_most_its_ceiling(name: str) -> None:
    assert committed()[name] <= CEILING[name]
