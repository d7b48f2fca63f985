"""`docs/reference/metrics.md` has every figure that is exported, with what it says of itself, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.service.http.metrics import ServiceMetrics
from spark_sync.metrics_file import metrics_text
from spark_sync.report import RunReport, SourceReport
from tests.service.event_samples import record
from tests.service.exported_figures import Family, families, samples
from tests.service.fixtures import World

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")


def row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    return f"| `{family.name}` | {family.kind} | {labels} | {family.meaning} |"


def rows(heading: str) -> list[str]:
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `.*$", section, re.MULTILINE)


@pytest.fixture(scope="module")
def of_the_service(world: World) -> list[Family]:
    """Those of a service that was asked: labels show only where something was counted."""
    question = {
        "principal": {"name": "alice"},
        "entity": {"type": "NO_SUCH_TYPE", "parts": ["ns1"]},
        "permissions": ["STANDARD.GET"],
    }
    world.ask("enforce", "POST", "/cdap/v1/enforce", question)
    world.ask("enforce", "POST", "/cdap/v1/enforce", question | {"entity": {"type": "NAMESPACE", "parts": ["ns1"]}})
    world.ask("audit", "POST", "/cdap/v1/audit", {"records": [record()]})
    return families(world.ask(None, "GET", "/metrics").body.decode())


def test_the_figures_of_the_decision_service(of_the_service: list[Family]) -> None:
    ours = [family for family in of_the_service if not family.name.startswith("ranger_pdp_")]
    assert rows("Decision service") == [row(family) for family in sorted(ours, key=lambda family: family.name)]


def test_the_figures_of_rangers_policy_decision_point(of_the_service: list[Family]) -> None:
    rangers = [family for family in of_the_service if family.name.startswith("ranger_pdp_")]
    assert rows("As Ranger's Policy Decision Point") == [row(one) for one in sorted(rangers, key=lambda one: one.name)]


def test_the_figures_of_the_sync_job() -> None:
    report = RunReport(sources=(SourceReport("cdap", 10, 1, 3),))
    found = families(metrics_text(report, began=0, ended=1).decode())
    assert rows("Sync job") == [row(family) for family in sorted(found, key=lambda family: family.name)]


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.floats(0, 20)), max_size=40))
def test_a_bucket_counts_what_took_at_most_so_long(requests: list[tuple[str, float]]) -> None:
    metrics = ServiceMetrics()
    for route, seconds in requests:
        metrics.answered(route, 200, seconds)
    found = samples(metrics.text().decode())
    for (name, labels), number in found.items():
        of = dict(labels)
        taken = [seconds for route, seconds in requests if route == of.get("route")]
        if name == "ranger_cdap_request_seconds_bucket":
            assert number == sum(seconds <= float(of["le"]) for seconds in taken)
        elif name == "ranger_cdap_requests_total":
            assert (
                number == len(taken) == found["ranger_cdap_request_seconds_count", frozenset({("route", of["route"])})]
            )


def test_names_are_of_one_kind(of_the_service: list[Family]) -> None:
    assert ServiceMetrics().text().startswith(b"# HELP ranger_cdap_requests_total")
    for family in of_the_service:
        assert re.fullmatch(r"ranger_(cdap|pdp)_[a-z_]+", family.name)
        assert family.meaning.endswith(".")
