"""Every link leads somewhere, and every page can be found."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

import pytest

from tests.docs.markdown_pages import ROOT, anchors, links, pages, prose_of, tracked

INDEX = ROOT / "docs" / "README.md"
# What a command makes for one machine alone.
MADE = {"docker/secrets"}
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


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_of_ours_that_is_named_exists(page: Path) -> None:
    """Named is what stands in backticks and begins with a folder of ours, and perhaps goes on with a test's name."""
    named = [code.partition("::")[0] for code in re.findall(r"`([^`\s]+/[^`\s]*)`", prose_of(page))]
    ours = {path.split("/")[0] for path in tracked()}
    there = [*tracked(), *MADE]
    beside = [path for path in named if (page.parent / path).exists()]
    elsewhere = [path for path in named if path not in beside and path.split("/")[0] in ours]
    lost = [path for path in elsewhere if not fnmatch.filter(there, path.rstrip("/"))]
    assert lost == []


def test_contributing_names_every_room() -> None:
    rooms = {
        path for path in tracked() if re.fullmatch(r"ranger_cdap/[a-z_]+|[a-z]\w+", path) and (ROOT / path).is_dir()
    }
    named = set(re.findall(r"`([a-z_/]+)/`", prose_of(ROOT / "CONTRIBUTING.md")))
    assert rooms - named == {"ranger_cdap", "ranger_cdap/extension", "ranger_cdap/units"}


def test_the_index_lists_every_page() -> None:
    """Its list is the navigation of the site."""
    listed = {target_of(INDEX, link)[0] for link in links(INDEX)}
    documents = {page for page in pages() if ROOT / "docs" in page.parents}
    assert documents - listed == {INDEX}


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


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_what_belongs_to_an_item_of_a_list_is_indented_for_every_renderer(page: Path) -> None:
    """The site's renderer wants four spaces where a paragraph or a block follows an empty line in a numbered list."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^\d+\. [^\n]*\n(?: +[^\n]*\n)*\n {1,3}\S[^\n]*", text, re.MULTILINE) == []
