"""The page of insights: it holds what the report says, escaped, and can be used with and without scripts."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_sync.cli.insights_page import MOST_BARS, MOST_GROUPS, MOST_ROWS, heat_map, insights_page, use_plot
from spark_sync.insights.facts import DayTotal
from spark_sync.insights.report import InsightReport
from spark_sync.insights.table import ColumnKind, InsightTable
from spark_sync.insights.tally import DAY
from tests.service.api.chromium import PROGRAM, Browser, chromium
from tests.service.api.test_page_in_chromium import CONTRASTS, brightness
from tests.spark_sync.insights.audit_fixtures import ALWAYS, NOON, facts_of, line

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></script>",
    "\u202eecila\x07",
    "a'b&c;",
)

HEAT = InsightTable(
    "use_by_group",
    "Use",
    "",
    (("namespace", ColumnKind.TEXT), ("group", ColumnKind.TEXT), ("accesses", ColumnKind.NUMBER)),
    (("ns1", "etl", 1000), ("ns1", HOSTILE[0], 3), ("ns2", "etl", 1)),
)
TABLE = InsightTable(
    "denials",
    "Denials",
    "Who was denied.",
    (
        ("user", ColumnKind.TEXT),
        ("count", ColumnKind.NUMBER),
        ("last_seen", ColumnKind.TIME),
        ("names", ColumnKind.TEXTS),
        ("now", ColumnKind.FLAG),
    ),
    (
        ("bob", 9, NOON, ("b",), True),
        ("alice", 100, NOON - DAY, HOSTILE, False),
        *((name, 1000, None, (), None) for name in HOSTILE),
    ),
)


def report(*tables: InsightTable) -> InsightReport:
    lines = [line(evtTime=NOON - n * DAY, result=n % 2, reqUser=HOSTILE[n % 5]) for n in range(20)]
    facts = facts_of([*lines, *(text.encode() for text in HOSTILE)], file="/a/<b>.log")
    return InsightReport.of(facts, ALWAYS, (), tables, now=NOON)


PAGE = insights_page(report(TABLE, HEAT))


def test_nothing_but_our_style_and_script_is_allowed_to_run() -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', PAGE)
    assert policy is not None
    for name in ("style", "script"):
        (content,) = re.findall(f"<{name}>(.*?)</{name}>", PAGE, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'; ")
    assert not re.search(r'(src|href)="(?!#)', PAGE)
    assert "style=" not in PAGE


@pytest.mark.parametrize("text", HOSTILE)
def test_names_are_escaped(text: str) -> None:
    body = PAGE.partition("<body>")[2]
    assert text not in body
    assert "<img" not in body
    assert "\u202e" not in PAGE
    assert body.count("<script>") == 1


def test_a_long_table_is_cut_and_says_so() -> None:
    long = InsightTable("long", "Long", "", (("n", ColumnKind.NUMBER),), tuple((n,) for n in range(MOST_ROWS + 1)))
    page = insights_page(report(long))
    assert "The first 1,000 of 1,001 rows." in page
    assert f'data-value="{MOST_ROWS}"' not in page


def test_every_day_of_the_plot_has_its_bar_and_the_sums_are_kept() -> None:
    plot = use_plot((DayTotal(10, 5, 0), DayTotal(12, 0, 10)))
    assert [bar.label for bar in plot.bars] == [
        "1970-01-11: 5 allowed, 0 denied",
        "1970-01-12: 0 allowed, 0 denied",
        "1970-01-13: 0 allowed, 10 denied",
    ]
    assert [bar.denied for bar in plot.bars][2] == 2 * plot.bars[0].allowed
    assert all(bar.denied_y + bar.denied + bar.allowed == pytest.approx(plot.height) for bar in plot.bars)
    assert all(bar.x >= 0 and bar.x + plot.bar <= plot.width for bar in plot.bars)
    years = use_plot(tuple(DayTotal(day, 1, 1) for day in range(0, 4000, 3)))
    assert len(years.bars) <= MOST_BARS
    counted = [re.findall(r": (\d+) allowed, (\d+) denied", bar.label)[0] for bar in years.bars]
    assert sum(int(one) for one, _ in counted) == len(range(0, 4000, 3))
    assert years.about == "at most 16 in 23 days"


def test_the_heat_map_has_the_busiest_and_counts_the_rest() -> None:
    found = heat_map(HEAT)
    assert found.columns == (HOSTILE[0], "etl")
    assert found.rows == (("ns1", ((3, 1), (1000, 4))), ("ns2", ((0, 0), (1, 1))))
    assert found.more == ""
    many = InsightTable("m", "", "", HEAT.columns, tuple(("ns", f"g{n:03}", n + 1) for n in range(MOST_GROUPS + 5)))
    assert heat_map(many).columns == tuple(f"g{n:03}" for n in range(5, MOST_GROUPS + 5))
    assert "0 namespaces and 5 groups are not shown" in heat_map(many).more
    assert heat_map(None).rows == ()


needs_chromium = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium (Debian: apt install chromium)")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def url(tmp_path: Path) -> str:
    (tmp_path / "r.html").write_text(PAGE, encoding="utf-8")
    return f"file://{tmp_path}/r.html"


def rows_of(browser: Browser, name: str = "denials") -> Any:
    return browser.evaluate(
        f"[...document.querySelectorAll('#{name} tbody tr')].filter(r => !r.hidden).map(r => r.cells[0].textContent)"
    )


@needs_chromium
@pytest.mark.slow
def test_tables_can_be_sorted_and_searched(browser: Browser, url: str) -> None:
    browser.visit(url)
    assert browser.complaints() == []
    press = "document.querySelectorAll('#denials th button')[{}].click()"
    browser.evaluate(press.format(1))
    assert rows_of(browser)[:2] == ["bob", "alice"], "as numbers, not as texts"
    browser.evaluate(press.format(1))
    assert rows_of(browser)[-2:] == ["alice", "bob"]
    assert browser.evaluate("document.querySelectorAll('#denials th')[1].getAttribute('aria-sort')") == "descending"
    browser.evaluate(press.format(0))
    assert browser.evaluate("document.querySelectorAll('#denials th[aria-sort]').length") == 1
    browser.type_into("#denials input", "ALICE")
    assert rows_of(browser) == ["alice"]
    assert browser.evaluate("document.querySelector('#denials [role=status]').textContent") == "1 of 7 rows"


@needs_chromium
@pytest.mark.slow
def test_without_scripts_everything_is_there_but_sorting(browser: Browser, url: str) -> None:
    browser("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.visit(url)
        assert len(rows_of(browser)) == 7
        assert browser.evaluate("document.querySelectorAll('th button').length") == 0
        assert browser.evaluate("[...document.querySelectorAll('.search')].every(e => !e.getClientRects().length)")
    finally:
        browser("Emulation.setScriptExecutionDisabled", value=False)


@needs_chromium
@pytest.mark.slow
def test_hostile_names_run_nothing(browser: Browser, url: str) -> None:
    browser.visit(url)
    kinds = {event["method"] for event in browser.events}
    assert kinds.isdisjoint({"Page.javascriptDialogOpening", "Runtime.consoleAPICalled"})
    assert browser.evaluate("document.querySelectorAll('img, iframe, object').length") == 0
    assert browser.complaints() == []


@needs_chromium
@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_can_be_read_in_light_and_dark_and_on_a_phone(
    browser: Browser, url: str, dark: bool, tmp_path: Path
) -> None:
    for width in (1280, 360):
        browser.screen(width, 800, dark=dark)
        browser.visit(url)
        browser.photograph(tmp_path / f"{width}.png")
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        faint = [(text, ratio) for text, ratio in browser.evaluate(CONTRASTS) if ratio < 4.5 and text[:5] != "title"]
        assert faint == []
    ink, paper = browser.evaluate("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")
    assert (brightness(ink) > brightness(paper)) is dark


@needs_chromium
@pytest.mark.slow
def test_a_screen_reader_finds_regions_fields_and_the_plot_by_name(browser: Browser, url: str) -> None:
    browser.visit(url)
    nodes = browser("Accessibility.getFullAXTree")["nodes"]
    named = {
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if node.get("role", {}).get("value") in ("searchbox", "region", "image", "navigation", "button")
    }
    assert {("searchbox", "Search in Denials"), ("region", "Denials"), ("navigation", "Contents")} <= named
    assert any(role == "image" and "10 allowed, 10 denied" in name for role, name in named)
    assert all(name for _, name in named)
