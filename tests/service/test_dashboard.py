"""The Grafana dashboard: made from its table, and each query asks for figures that are exported, as they are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import promql_parser
import pytest

from tests.docs.markdown_pages import ROOT, text_of
from tests.service.exported_figures import families
from tests.service.fixtures import World
from tests.service.test_alert_rules import GOOD_RUN, RULES

FOLDER = ROOT / "examples" / "dashboard"
DASHBOARD: Mapping[str, Any] = json.loads((FOLDER / "ranger-cdap.json").read_text(encoding="utf-8"))
PANELS = {panel["title"]: panel for panel in DASHBOARD["panels"] if panel["type"] != "row"}
QUERIES = [(title, target) for title, panel in PANELS.items() for target in panel["targets"]]
OF_SCRAPE = {"job", "instance", "le"}
# Grafana's own variables, and ours, as they are when people look.
CHOSEN = {"$__rate_interval": "5m", "$job": "ranger-cdap", "$service": "cdapdev"}
UNSEEN = {
    "ranger_cdap_build_info": "the variable `job` is made of it",
    "ranger_cdap_sync_run_seconds": "of interest after an alert, in the run's own report",
    "ranger_cdap_sync_source_lines": "of interest after an alert",
    "ranger_cdap_sync_source_events": "of interest after an alert",
    "ranger_cdap_checks_journalled_total": "its failures are there",
    "ranger_cdap_checks_open": "the watermark shows what it delays",
}


@dataclass(frozen=True)
class Figure:
    kind: str
    labels: frozenset[str]


PAGE = {
    name: Figure(kind, frozenset(re.findall(r"`(\w+)`", labels)))
    for name, kind, labels in re.findall(
        r"^\| `(ranger_\w+)` \| (\w+) \| ([^|]*)\|", text_of(ROOT / "docs" / "reference" / "metrics.md"), re.MULTILINE
    )
}


def parsed(query: str) -> Any:
    for variable, value in CHOSEN.items():
        query = query.replace(variable, value)
    assert "$" not in query
    return promql_parser.parse(query)


def nodes(node: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Every node, with the functions that it is an argument of."""
    yield node, above
    if isinstance(node, promql_parser.Call):
        for argument in node.args:
            yield from nodes(argument, (*above, node.func.name))
    for name in ("expr", "lhs", "rhs", "vector_selector"):
        if (inner := getattr(node, name, None)) is not None and not isinstance(inner, str):
            yield from nodes(inner, above)


def figures(query: str) -> Iterator[tuple[str, set[str], tuple[str, ...]]]:
    """Name, labels that are asked for, and functions, of each figure in a query."""
    for node, functions in nodes(parsed(query)):
        if isinstance(node, promql_parser.VectorSelector):
            yield node.name, {one.name for one in node.matchers.matchers}, functions


def test_it_is_made_from_its_table() -> None:
    program = "import runpy; print(runpy.run_path('make_dashboard.py')['text'](), end='')"
    made = subprocess.run([sys.executable, "-c", program], cwd=FOLDER, capture_output=True, text=True, check=True)
    assert made.stdout == (FOLDER / "ranger-cdap.json").read_text(encoding="utf-8")


def test_panels_lie_side_by_side_and_none_on_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


@pytest.mark.parametrize(("title", "target"), QUERIES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_query_asks_for_what_is_exported_in_a_way_that_fits(title: str, target: Mapping[str, str]) -> None:
    asked = list(figures(target["expr"]))
    assert asked
    for name, labels, functions in asked:
        figure = PAGE[name.removesuffix("_bucket")]
        assert labels <= figure.labels | OF_SCRAPE
        grows = figure.kind in {"counter", "histogram"}
        assert grows == bool({"rate", "increase"} & set(functions)), "a counter is asked for its growth, a gauge never"
        assert name.endswith("_bucket") == (figure.kind == "histogram") == ("histogram_quantile" in functions)


@pytest.mark.parametrize(("title", "target"), QUERIES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_legend_names_labels_that_the_answer_has(title: str, target: Mapping[str, str]) -> None:
    kept = {
        label
        for node, _ in nodes(parsed(target["expr"]))
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None
        for label in node.modifier.labels
    }
    is_summed = any(isinstance(node, promql_parser.AggregateExpr) for node, _ in nodes(parsed(target["expr"])))
    named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
    assert named <= (kept if is_summed else OF_SCRAPE | PAGE[next(figures(target["expr"]))[0]].labels)


def test_the_page_it_is_held_against_is_what_is_exported(world: World) -> None:
    text = world.ask(None, "GET", "/metrics").body.decode()
    exported = {family.name for family in families(text)} | {name for name, _ in GOOD_RUN}
    assert set(PAGE) <= exported


def test_every_figure_of_ours_is_seen_or_warned_of() -> None:
    seen = {name.removesuffix("_bucket") for _, target in QUERIES for name, _, _ in figures(target["expr"])}
    warned = {name for rule in RULES.values() for name, _, _ in figures(rule["expr"])}
    ours = {name for name in PAGE if name.startswith("ranger_cdap_")}
    assert ours - seen - warned == UNSEEN.keys()


@pytest.mark.parametrize("rule", RULES)
def test_an_alert_is_a_query_of_prometheus(rule: str) -> None:
    assert list(figures(RULES[rule]["expr"]))
