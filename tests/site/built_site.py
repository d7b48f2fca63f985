"""The built site, read as a browser would: what each page links to, loads and shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.docs.markdown_pages import ROOT

SITE = ROOT / "site"
# What a browser fetches by itself; `link` only where its relation makes it a load.
_LOADING = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href",),
    "img": ("src", "srcset"),
    "input": ("src",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "track": ("src",),
    "use": ("href",),
    "video": ("src", "poster"),
}
_OF_LINKS = {"icon", "stylesheet", "preload", "preconnect", "dns-prefetch", "prefetch", "modulepreload", "manifest"}
_VOID = {"br", "hr", "img", "input", "link", "meta", "source", "wbr"}


@dataclass
class HtmlPage(HTMLParser):
    """A page: its anchors, the targets of its links, what it loads, its navigation, and the content of its article."""

    text: str
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    navigation: list[str] = field(default_factory=list)
    policies: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[tuple[str, str]] = []
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        self.loads += [values[name] for name in _LOADING.get(tag, ()) if name in values]
        if tag == "link" and _OF_LINKS & set(values["rel"].split()):
            self.loads.append(values["href"])
        if tag == "meta" and values.get("http-equiv") == "Content-Security-Policy":
            self.policies.append(values["content"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
            of_the_page = values["href"].startswith("#")
            if "md-nav__link" in values.get("class", "").split() and self._in_navigation() and not of_the_page:
                self.navigation.append(values["href"])
        if self._in_article():
            self.tags.append(tag)
        if tag not in _VOID:
            self._open.append((tag, values.get("class", "")))

    def handle_endtag(self, tag: str) -> None:
        if any(name == tag for name, _ in self._open):
            while self._open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._in_article() and ("a", "headerlink") not in self._open:
            self.shown.append(data)

    def _in_navigation(self) -> bool:
        return any("md-nav--primary" in kind.split() for _, kind in self._open)

    def _in_article(self) -> bool:
        return any(tag == "article" for tag, _ in self._open)


@cache
def pages() -> dict[Path, HtmlPage]:
    """Every page of the site, by its file."""
    return {path: HtmlPage(path.read_text(encoding="utf-8")) for path in sorted(SITE.rglob("*.html"))}


def page_of(document: Path) -> Path:
    """The file of a document's page."""
    page = SITE / document.relative_to(ROOT).with_suffix(".html")
    return page.with_name("index.html") if document.name == "README.md" else page


def target_of(page: Path, link: str) -> tuple[Path, str]:
    """The file and the anchor that a link of a page leads to."""
    parts = urlsplit(link)
    path = page if not parts.path else (page.parent / unquote(parts.path)).resolve()
    return (path / "index.html" if path.is_dir() else path), unquote(parts.fragment)


def elsewhere(addresses: Iterable[str]) -> list[str]:
    """Those of the addresses that are not of the site itself."""
    return [
        address for address in addresses if urlsplit(address).netloc or urlsplit(address).scheme not in {"", "data"}
    ]
