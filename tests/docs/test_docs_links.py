"""Every link leads somewhere, and every page can be found."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_pages import ROOT, anchors, links, pages

INDEX = ROOT / "docs" / "README.md"
KINDS = {"tutorial", "how-to", "reference", "explanation", "decisions"}


def target_of(page: Path, link: str) -> tuple[Path, str]:
    path, _, fragment = link.partition("#")
    return ((page.parent / path).resolve() if path else page), fragment


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    lost = []
    for link in links(page):
        target, fragment = target_of(page, link)
        if not target.exists() or (fragment and fragment not in anchors(target)):
            lost.append(link)
    assert lost == []


def test_every_page_can_be_reached_from_the_index() -> None:
    reached, waiting = {INDEX}, [INDEX]
    while waiting:
        page = waiting.pop()
        for link in links(page):
            target, _ = target_of(page, link)
            if target.suffix == ".md" and target.is_file() and target not in reached:
                reached.add(target)
                waiting.append(target)
    assert [
        str(page.relative_to(ROOT)) for page in pages() if ROOT / "docs" in page.parents and page not in reached
    ] == []


def test_a_page_is_of_one_kind() -> None:
    homes = {page.relative_to(ROOT / "docs").parts[0] for page in pages() if ROOT / "docs" in page.parents}
    assert homes - {"README.md"} == KINDS


def test_the_index_names_every_kind() -> None:
    assert anchors(INDEX) >= KINDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\n## `[ranger]`\n## What's it *for*?\n", {"one", "ranger", "whats-it-for"}),
        ("# Same\n## Same\n## Same\n", {"same", "same-1", "same-2"}),
        ("# Kept\n```sh\n# no heading\n```\n", {"kept"}),
        ("# A [link](to.md) in it\n", {"a-link-in-it"}),
    ],
)
def test_anchors_are_those_of_the_renderers(tmp_path: Path, text: str, expected: set[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    assert anchors(page) == expected
