"""The page in a real browser, without JavaScript: signing in, asking by form, light, dark and on a narrow screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from ranger_cdap.policies.refresh.policy_refresher import Snapshot
from ranger_cdap.policies.refresh.refresh_state import PolicyState
from tests.service.api.chromium import PROGRAM, Browser, chromium
from tests.service.api.test_page import BROKEN, HOSTILE, KV, engine_of
from tests.service.fixtures import World, basic, secret_of

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium (Debian: apt install chromium)")

# Contrast of every visible text with what is behind it, as WCAG 2 counts it.
CONTRASTS = """
(() => {
  const parts = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => {
    const linear = v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    const [r, g, b] = parts(c).slice(0, 3).map(v => linear(v / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (parts(c).length === 3 || parts(c)[3] === 1) return c;
    }
    throw new Error('nothing is painted behind ' + e);
  };
  return [...document.querySelectorAll('body *')].filter(e =>
    [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && e.getClientRects().length
  ).map(e => {
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    return [e.tagName + ' ' + e.textContent.trim().slice(0, 40), (a + .05) / (b + .05)];
  });
})()
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        browser("Emulation.setScriptExecutionDisabled", value=True)
        yield browser


@pytest.fixture
def signed_in(browser: Browser) -> Iterator[Browser]:
    browser("Network.setExtraHTTPHeaders", headers={"Authorization": basic("delegate")})
    yield browser
    browser("Network.setExtraHTTPHeaders", headers={})


@pytest.fixture
def busy_world(world: World) -> Iterator[World]:
    """Everything there is to show: problems, a difference, policies that grow old."""
    before = world.state.authorizer.snapshot
    long = {
        **BROKEN,
        "id": 8,
        "name": "a policy with a long name that nobody ever shortened, of the team in the third floor",
    }
    engine = engine_of([BROKEN, long], serviceId=3)
    world.becomes(Snapshot(engine, PolicyState.STALE, "Ranger Admin last confirmed the policies at noon", 1.7e9))
    world.ask("enforce", "POST", "/cdap/v1/hello", {"extension": "0.1.0", "master_user": "root"})
    yield world
    world.becomes(before)


def asking(user: str, operation: str = "dataset.get", entity: str = KV) -> str:
    return f"/?user={quote(user)}&groups=&operation={quote(operation)}&entity={quote(entity)}"


PATHS = {
    "allowed": asking("alice"),
    "denied": asking("eve"),
    "wrong": asking("", "dataset.gett", "kv"),
    "long": asking("u" * 300, entity=f"dataset:ns1.{'d' * 300}"),
}


def test_with_name_and_secret_one_asks_by_form_and_gets_the_answer(browser: Browser, world: World) -> None:
    address = world.url.replace("http://", f"http://delegate:{secret_of('delegate')}@")
    browser.visit(address)
    assert browser.complaints() == []
    assert browser.evaluate("getComputedStyle(document.querySelector('.name')).fontWeight") == "700", "has its style"
    for field, text in (("user", "alice"), ("operation", "dataset.get"), ("entity", KV)):
        browser.type_into(f"#{field}", text)
    browser.submit("button")
    assert browser.evaluate("document.querySelector('.answer h2').textContent") == f"Allowed: alice dataset.get on {KV}"
    assert browser.evaluate("document.title").startswith("allowed")


def test_without_one_a_browser_shows_what_is_needed(browser: Browser, world: World) -> None:
    browser("Network.setExtraHTTPHeaders", headers={"Authorization": basic("enforce")})
    browser.visit(world.url)
    browser("Network.setExtraHTTPHeaders", headers={})
    assert browser.evaluate("document.querySelector('h1').textContent") == "Forbidden"
    assert "delegate" in browser.evaluate("document.querySelector('main').textContent")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_it_can_be_read_in_light_and_dark_and_on_a_narrow_screen(
    signed_in: Browser, busy_world: World, path: str, dark: bool, tmp_path: Path
) -> None:
    for width in (1280, 360):
        signed_in.screen(width, 800, dark=dark)
        signed_in.visit(busy_world.url + path)
        signed_in.photograph(tmp_path / f"{width}.png")
        assert signed_in.evaluate("document.documentElement.scrollWidth") <= width
        faint = [(text, ratio) for text, ratio in signed_in.evaluate(CONTRASTS) if ratio < 4.5]
        assert faint == []
    ink, paper = signed_in.evaluate("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")
    assert (brightness(ink) > brightness(paper)) is dark


def brightness(colour: str) -> int:
    return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))


def test_a_screen_reader_finds_each_field_by_its_name_and_what_is_wrong_with_it(
    signed_in: Browser, world: World
) -> None:
    signed_in.visit(world.url + PATHS["wrong"])
    nodes = signed_in("Accessibility.getFullAXTree")["nodes"]
    fields = {
        node["name"]["value"]: node.get("description", {}).get("value", "")
        for node in nodes
        if node.get("role", {}).get("value") in ("textbox", "combobox")
    }
    assert list(fields) == ["User", "Groups (may be empty)", "Operation", "Entity"]
    assert "did you mean" in fields["Operation"]
    assert "write it as type:name" in fields["Entity"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_run_nothing_even_where_scripts_may_run(signed_in: Browser, world: World, text: str) -> None:
    signed_in("Emulation.setScriptExecutionDisabled", value=False)
    try:
        signed_in.visit(world.url + asking(text))
    finally:
        signed_in("Emulation.setScriptExecutionDisabled", value=True)
    opened = [
        e for e in signed_in.events if e["method"] in ("Page.javascriptDialogOpening", "Runtime.consoleAPICalled")
    ]
    assert opened == []
    assert signed_in.evaluate("document.querySelector('#user').value") == text
    assert signed_in.evaluate("document.querySelectorAll('script, img, svg, iframe').length") == 0
