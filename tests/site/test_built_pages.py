"""The site has every document once, shows what its Markdown says, has no broken link, and asks no other host."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.docs import markdown_pages
from tests.docs.markdown_pages import ROOT
from tests.site.built_site import SITE, HtmlPage, elsewhere, page_of, pages, target_of

pytestmark = pytest.mark.site

DOCUMENTS = [page for page in markdown_pages.pages() if page.parent == ROOT or ROOT / "docs" in page.parents]
STRUCTURE = frozenset(
    (
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "ul",
        "ol",
        "li",
        "table",
        "tr",
        "td",
        "th",
        "pre",
        "code",
        "em",
        "strong",
        "blockquote",
    )
)
# What the theme's script would load from another host, and the file that a page has loaded before.
OFFERED = {"https://unpkg.com/mermaid@11/dist/mermaid.min.js": "mermaid.min.js"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def as_commonmark(document: Path) -> HtmlPage:
    """The document as the usual renderers show it."""
    text = document.read_text(encoding="utf-8")
    return HtmlPage(f"<article>{MarkdownIt('commonmark').enable('table').render(text)}</article>")


def without_space(page: HtmlPage) -> str:
    return re.sub(r"\s", "", "".join(page.shown))


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_a_page_shows_what_the_usual_renderers_show(document: Path) -> None:
    expected, built = as_commonmark(document), pages()[page_of(document)]

    assert without_space(expected) == without_space(built)
    assert Counter(tag for tag in expected.tags if tag in STRUCTURE) == Counter(
        tag for tag in built.tags if tag in STRUCTURE
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_a_document_is_in_the_navigation_once(document: Path) -> None:
    start = SITE / "index.html"
    entries = Counter(target_of(start, link)[0] for link in pages()[start].navigation)

    assert entries[page_of(document)] == 1


def test_every_link_and_anchor_leads_somewhere() -> None:
    lost = []
    for path, page in pages().items():
        # The page of an address that does not exist is shown at any depth: its links begin at the root.
        base = SITE / "index.html" if path.name == "404.html" else path
        for link in page.links:
            if elsewhere([link]):
                continue
            target, anchor = target_of(base, link.lstrip("/") if path.name == "404.html" else link)
            known = target.is_file() and target.is_relative_to(SITE)
            if not known or (anchor and target in pages() and anchor not in pages()[target].ids):
                lost.append(f"{path.relative_to(SITE)}: {link}")
    assert lost == []


def test_everything_that_a_page_loads_is_there() -> None:
    lost = []
    for path, page in pages().items():
        base = SITE / "index.html" if path.name == "404.html" else path
        for address in page.loads:
            target, _ = target_of(base, address.lstrip("/") if path.name == "404.html" else address)
            if not address.startswith("data:") and not target.is_file():
                lost.append(f"{path.relative_to(SITE)}: {address}")
    assert lost == []


def test_no_page_loads_anything_from_another_host() -> None:
    assert {str(path): found for path, page in pages().items() if (found := elsewhere(page.loads))} == {}


def test_no_style_loads_anything_from_another_host() -> None:
    loaded = {
        str(path): elsewhere(re.findall(r"""(?:url\(|@import\s*)["']?([^"')]+)""", path.read_text(encoding="utf-8")))
        for path in SITE.rglob("*.css")
    }
    assert loaded
    assert {path: found for path, found in loaded.items() if found} == {}


def test_the_browser_is_told_to_load_from_the_site_only() -> None:
    for path, page in pages().items():
        (policy,) = page.policies
        sources = {word for rule in policy.split(";") for word in rule.split()[1:]}
        assert sources <= {"'self'", "'none'", "'unsafe-inline'", "data:"}, path
        assert "default-src 'self'" in policy, path


def test_what_the_theme_would_load_from_another_host_is_there_before() -> None:
    # Beside these are the word forms of languages, with addresses in comments.
    folders = ("assets/javascripts/*.js", "assets/javascripts/workers/*.js")
    scripts = [path.read_text(encoding="utf-8") for folder in folders for path in SITE.glob(folder)]
    offered = {address for script in scripts for address in re.findall(r"https://[\w./@-]+\.m?js\b", script)}

    assert offered == set(OFFERED)
    for page in pages().values():
        if '<pre class="mermaid">' in page.text:
            assert any(address.endswith(OFFERED[one]) for one in offered for address in page.loads)


@pytest.mark.parametrize(
    ("address", "foreign"),
    [
        ("assets/a.js", False),
        ("data:image/png;base64,AA==", False),
        ("//example.com/a.js", True),
        ("https://example.com/a.js", True),
        ("javascript:alert(1)", True),
    ],
)
def test_an_address_of_another_host_is_recognized(address: str, foreign: bool) -> None:
    assert (elsewhere([address]) != []) is foreign


@pytest.mark.parametrize(
    "text",
    [
        '<img src="//a.example/b">',
        '<link rel="preload stylesheet" href="//a.example/b">',
        "<source srcset='//a.example/b'>",
    ],
)
def test_what_loads_is_recognized(text: str) -> None:
    assert elsewhere(HtmlPage(text).loads) == ["//a.example/b"]
