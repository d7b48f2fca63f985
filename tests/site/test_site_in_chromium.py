"""The site in a real browser, from its folder: light, dark, diagrams, search, and no request to another host."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.chromium import PROGRAM, Browser, chromium
from tests.docs.test_twenty_questions import questions
from tests.site.built_site import SITE, pages
from tests.site.waiting import until

pytestmark = [
    pytest.mark.site,
    pytest.mark.skipif(PROGRAM is None, reason="needs Chromium (Debian: apt install chromium)"),
]

START = SITE / "index.html"
DIAGRAMS = {path: count for path, page in pages().items() if (count := page.text.count('<pre class="mermaid">'))}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def asked(browser: Browser) -> set[str]:
    """The schemes of all that the browser has asked for since the page was visited."""
    urls = [e["params"]["request"]["url"] for e in browser.events if e["method"] == "Network.requestWillBeSent"]
    return {url.partition(":")[0] for url in urls}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_page_follows_the_system_and_fits_the_screen(browser: Browser, width: int, dark: bool) -> None:
    browser.screen(width, 900, dark=dark)
    browser.visit(START.as_uri())

    assert browser.evaluate("document.body.dataset.mdColorScheme") == ("slate" if dark else "default")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.complaints() == []
    assert asked(browser) <= {"file", "data"}


@pytest.mark.parametrize("page", DIAGRAMS, ids=lambda page: page.stem)
def test_diagrams_are_drawn(browser: Browser, page: Path) -> None:
    browser.screen(1280, 900, dark=False)
    browser.visit(page.as_uri())

    # The theme puts a drawing in place of the text, in a closed shadow tree; one that fails stays a `pre`.
    until(lambda: browser.evaluate("document.querySelectorAll('div.mermaid').length") == DIAGRAMS[page])
    assert browser.evaluate("Math.min(...[...document.querySelectorAll('div.mermaid')].map(e => e.offsetHeight))") > 50
    assert browser.complaints() == []
    assert asked(browser) <= {"file", "data"}


def test_there_are_diagrams_to_look_at() -> None:
    assert DIAGRAMS


def test_search_finds_a_page(browser: Browser) -> None:
    browser.screen(1280, 900, dark=False)
    browser.visit(START.as_uri())
    browser.evaluate("document.querySelector('input[name=query]').focus()")
    browser.type_into("input[name=query]", "hold-back")
    browser("Input.dispatchKeyEvent", type="keyUp", key="k")

    until(lambda: browser.evaluate("document.querySelectorAll('.md-search-result__item').length"))
    assert browser.evaluate("document.querySelector('.md-search-result__item a').href").startswith(SITE.as_uri())
    assert asked(browser) <= {"file", "data"}


def test_a_load_from_another_host_is_stopped(browser: Browser) -> None:
    browser.visit(START.as_uri())
    browser.evaluate("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/picture.png'}))")

    until(lambda: browser.evaluate("1") and any("Content Security Policy" in text for text in browser.complaints()))


@pytest.mark.parametrize("asked_for", [*questions(), *(name for names, _ in questions().values() for name in names)])
def test_search_puts_the_answer_to_a_question_first(browser: Browser, asked_for: str) -> None:
    title = next(title for title, (names, _) in questions().items() if asked_for in (title, *names))
    browser.visit(START.as_uri())
    browser.evaluate("document.querySelector('input[name=query]').focus()")
    browser.type_into("input[name=query]", asked_for)
    browser("Input.dispatchKeyEvent", type="keyUp", key="k")

    until(lambda: browser.evaluate("document.querySelectorAll('.md-search-result__item').length"))
    links = "[...document.querySelector('.md-search-result__item').querySelectorAll('a')].map(a => a.href)"
    first = [href.partition("?")[0].removeprefix(SITE.as_uri()) for href in browser.evaluate(links)]
    assert first[0].startswith("/docs/how-to/twenty-questions"), first
    assert any("#" + re.sub(r"\W+", "-", title.lower()) in href for href in browser.evaluate(links)), first
