"""The page in a real browser, without JavaScript: signing in, asking by form, light, dark and on a narrow screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from ranger_cdap.console.pages import MAX_FILE
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from tests.console.chromium import PROGRAM, Browser, chromium
from tests.console.fixtures import ConsoleWorld, company
from tests.console.test_page import BROKEN, HOSTILE, KV, engine_of
from tests.service.fixtures import basic, secret_of

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
def busy_world(world: ConsoleWorld) -> Iterator[ConsoleWorld]:
    """Everything there is to show: problems, policies that grow old."""
    before = world.authorizer.snapshot
    long = {
        **BROKEN,
        "id": 8,
        "name": "a policy with a long name that nobody ever shortened, of the team in the third floor",
    }
    engine = engine_of([BROKEN, long], serviceId=3)
    world.becomes(Snapshot(engine, PolicyState.STALE, "Ranger Admin last confirmed the policies at noon", 1.7e9))
    yield world
    world.becomes(before)


@pytest.fixture
def company_world(world: ConsoleWorld, tmp_path: Path) -> Iterator[ConsoleWorld]:
    """Denials, exceptions, roles and patterns."""
    before = world.authorizer.snapshot
    company(tmp_path / "company").takes_effect(world)
    yield world
    world.becomes(before)


def asking(user: str, operation: str = "dataset.get", entity: str = KV) -> str:
    return f"/?user={quote(user)}&groups=&operation={quote(operation)}&entity={quote(entity)}"


PATHS = {
    "allowed": asking("alice"),
    "denied": asking("eve"),
    "wrong": asking("", "dataset.gett", "kv"),
    "long": asking("u" * 300, entity=f"dataset:ns1.{'d' * 300}"),
    "status": "/status",
    "impact": "/impact",
    "who wrong": "/who?entity=kv&access=fly",
}
VIEWS = {
    "who": "/who?entity=dataset:ns1.kv",
    "pattern": "/who?entity=dataset:ns1.*",
    "what": "/what?user=mallory&groups=etl",
    "matrix": "/matrix?namespace=ns1",
}


def test_with_name_and_secret_one_asks_by_form_and_gets_the_answer(browser: Browser, world: ConsoleWorld) -> None:
    address = world.url.replace("http://", f"http://delegate:{secret_of('delegate')}@")
    browser.visit(address)
    assert browser.complaints() == []
    assert browser.evaluate("getComputedStyle(document.querySelector('.name')).fontWeight") == "700", "has its style"
    for field, text in (("user", "alice"), ("operation", "dataset.get"), ("entity", KV)):
        browser.type_into(f"#{field}", text)
    browser.submit("button")
    assert browser.evaluate("document.querySelector('.answer h2').textContent") == f"Allowed: alice dataset.get on {KV}"
    assert browser.evaluate("document.title").startswith("allowed")


def test_without_one_a_browser_shows_what_is_needed(browser: Browser, world: ConsoleWorld) -> None:
    browser("Network.setExtraHTTPHeaders", headers={"Authorization": basic("enforce")})
    browser.visit(world.url)
    browser("Network.setExtraHTTPHeaders", headers={})
    assert browser.evaluate("document.querySelector('h1').textContent") == "Forbidden"
    assert "delegate" in browser.evaluate("document.querySelector('main').textContent")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_it_can_be_read_in_light_and_dark_and_on_a_narrow_screen(
    signed_in: Browser, busy_world: ConsoleWorld, path: str, dark: bool, tmp_path: Path
) -> None:
    is_readable(signed_in, busy_world.url + path, dark, tmp_path)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", VIEWS.values(), ids=VIEWS)
def test_so_can_the_answers_of_each_view(
    signed_in: Browser, company_world: ConsoleWorld, path: str, dark: bool, tmp_path: Path
) -> None:
    is_readable(signed_in, company_world.url + path, dark, tmp_path)
    assert signed_in.evaluate("document.querySelectorAll('.rows > li, table').length")


BROKEN_WORDS = """
[...document.querySelectorAll('main *')].filter(e => !e.closest('thead, .unseen')).flatMap(e =>
  [...e.childNodes].filter(n => n.nodeType == 3).flatMap(n => [...n.data.matchAll(/[\\w.:*-]+/g)].filter(m => {
    const range = document.createRange();
    range.setStart(n, m.index);
    range.setEnd(n, m.index + m[0].length);
    return new Set([...range.getClientRects()].map(r => Math.round(r.top / 4))).size > 1 && m[0].length < 36;
  }).map(m => m[0])))
"""
"""The words and names that are broken over lines, without those longer than a line of a phone."""


def is_readable(signed_in: Browser, url: str, dark: bool, folder: Path) -> None:
    for width in (1280, 360):
        signed_in.screen(width, 800, dark=dark)
        signed_in.visit(url)
        signed_in.photograph(folder / f"{width}.png")
        assert signed_in.evaluate("document.documentElement.scrollWidth") <= width
        assert signed_in.evaluate(BROKEN_WORDS) == []
        faint = [(text, ratio) for text, ratio in signed_in.evaluate(CONTRASTS) if ratio < 4.5]
        assert faint == []
    ink, paper = signed_in.evaluate("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")
    assert (brightness(ink) > brightness(paper)) is dark


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_matrix_on_a_phone_is_a_card_per_entity(signed_in: Browser, company_world: ConsoleWorld, dark: bool) -> None:
    shown = "[...document.querySelectorAll('.matrix, .matrix-cards')].filter(e => e.offsetHeight).map(e => e.className)"
    for width in (1280, 768):
        signed_in.screen(width, 800, dark=dark)
        signed_in.visit(company_world.url + VIEWS["matrix"])
        assert signed_in.evaluate(shown) == ["matrix"]
    signed_in.screen(390, 844, dark=dark)
    signed_in.visit(company_world.url + VIEWS["matrix"])
    assert signed_in.evaluate(shown) == ["matrix-cards"]
    assert signed_in.evaluate("[...document.querySelectorAll('details')].every(e => e.open)"), "there are few"
    assert signed_in.evaluate("document.documentElement.scrollHeight") < 4_000
    assert signed_in.evaluate("document.documentElement.scrollWidth") <= 390
    assert signed_in.evaluate(BROKEN_WORDS) == []
    assert [text for text, ratio in signed_in.evaluate(CONTRASTS) if ratio < 4.5] == []


def brightness(colour: str) -> int:
    return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))


def test_a_screen_reader_finds_each_field_by_its_name_and_what_is_wrong_with_it(
    signed_in: Browser, world: ConsoleWorld
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


FORMS = {
    "/who": ["Entity or pattern", "Access types (all if empty)"],
    "/what": ["User", "Groups (may be empty)", "Role (may be empty)", "Access types (all if empty)"],
    "/matrix": [
        "Namespace",
        "Entity types (all if empty)",
        "Further users (may be empty)",
        "Further groups (may be empty)",
    ],
    "/impact": ["File of policies", "Access types (all if empty)"],
}


@pytest.mark.parametrize(("path", "labels"), FORMS.items(), ids=FORMS)
def test_the_keyboard_reaches_each_view_and_each_field_in_order(
    signed_in: Browser, world: ConsoleWorld, path: str, labels: list[str]
) -> None:
    signed_in.visit(world.url + path)
    name = """(e => e.labels && e.labels.length ? e.labels[0].textContent : e.textContent)(document.activeElement)"""
    reached = []
    for _ in range(6 + len(labels) + 1):
        for kind in ("keyDown", "keyUp"):
            signed_in("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        outline = signed_in.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        reached.append((signed_in.evaluate(name), outline))
    views = ["Ask", "Who has access", "What a user reaches", "Matrix", "Impact of a change", "Status"]
    button = "Compare" if path == "/impact" else "Show"
    assert reached == [(one, "solid") for one in (*views, *labels, button)]


@pytest.mark.parametrize("path", ["/", *FORMS])
def test_after_the_press_of_the_button_a_line_says_that_the_answer_is_worked_on(
    signed_in: Browser, world: ConsoleWorld, path: str
) -> None:
    signed_in.visit(world.url + path)
    visibility = "getComputedStyle(document.querySelector('[role=status] .working')).visibility"
    assert signed_in.evaluate(visibility) == "hidden"
    place = signed_in.evaluate("(b => [b.x + 5, b.y + 5])(document.querySelector('button').getBoundingClientRect())")
    for kind, (x, y) in (
        ("mousePressed", place),
        ("mouseMoved", (1, 1)),
        ("mouseReleased", (1, 1)),
    ):  # so nothing is sent
        signed_in("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    assert signed_in.evaluate("document.querySelector('button:active')") is None
    assert signed_in.evaluate(visibility) == "visible"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_file_is_uploaded_without_javascript(
    signed_in: Browser, company_world: ConsoleWorld, host: str, tmp_path: Path
) -> None:
    signed_in.visit(company_world.url.replace("127.0.0.1", host) + "/impact")
    new = tmp_path / "new <b>.json"
    new.write_text('{"policies": []}', encoding="utf-8")
    root = signed_in("DOM.getDocument")["root"]["nodeId"]
    field = signed_in("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
    signed_in("DOM.setFileInputFiles", nodeId=field, files=[str(new)])
    signed_in.type_into("#access", "read")
    signed_in.submit("button")
    heading = signed_in.evaluate("document.querySelector('#answer').textContent")
    assert heading.startswith("0 gained, ")
    assert not heading.startswith("0 gained, 0 lost")
    assert "group etl loses read on" in signed_in.evaluate("document.querySelector('main').textContent")
    assert signed_in.complaints() == []


def test_a_file_that_is_too_long_is_refused_on_a_page(
    signed_in: Browser, company_world: ConsoleWorld, tmp_path: Path
) -> None:
    signed_in.visit(company_world.url + "/impact")
    new = tmp_path / "new.json"
    with new.open("wb") as file:
        file.truncate(MAX_FILE + 1)
    root = signed_in("DOM.getDocument")["root"]["nodeId"]
    field = signed_in("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
    signed_in("DOM.setFileInputFiles", nodeId=field, files=[str(new)])
    signed_in.submit("button")
    assert f"the body is longer than {MAX_FILE} bytes" in signed_in.evaluate(
        "document.querySelector('main').textContent"
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_run_nothing_even_where_scripts_may_run(
    signed_in: Browser, world: ConsoleWorld, text: str
) -> None:
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
