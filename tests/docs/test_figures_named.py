"""Every figure that a page names is one of the reference, and every error code one of the tree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages.errors import kinds

from tests.docs.markdown_pages import ROOT, pages, text_of

METRICS = ROOT / "docs" / "reference" / "metrics.md"
KNOWN = set(re.findall(r"^\| `(\w+)`", text_of(METRICS), re.MULTILINE))
CODES = {kind.code for kind in kinds()}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_figure_is_one_of_the_reference(page: Path) -> None:
    named = set(
        re.findall(
            r"`(ranger_cdap_(?:policies|audit_lost|hello|enforced|events|requests|decisions|sync)\w*)`", text_of(page)
        )
    )
    assert {name for name in named if name not in KNOWN and f"{name}_total" not in KNOWN} == set()


def test_there_are_figures_to_look_at() -> None:
    assert len(KNOWN) > 15


def test_codes_of_the_page_on_trouble_are_those_of_the_tree() -> None:
    text = text_of(ROOT / "docs" / "how-to" / "troubleshoot.md")
    first = [
        cell for cell in re.findall(r"^\| (`[^|]*`) \|", text, re.MULTILINE) if re.fullmatch(r"(`[a-z-]+`(, )?)+", cell)
    ]
    named = {code for cell in first for code in re.findall(r"`([a-z-]+)`", cell)}
    assert named
    assert named <= CODES
