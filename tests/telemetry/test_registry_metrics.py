"""Prometheus and OpenTelemetry have the same figures, because there is one of each."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from ranger_cdap.policies.refresh.refresh_state import PolicyState
from ranger_cdap.service.http.metrics import UNDER_WAY, ServiceMetrics, journal_metrics, state_metrics
from ranger_cdap.telemetry.choice import choice_of
from ranger_cdap.telemetry.registry_metrics import otel_metrics
from ranger_cdap.telemetry.sdk import Telemetry
from tests.service.exported_figures import samples
from tests.service.fixtures import READ_AND_WRITE, serving
from tests.service.http.raw_http import until
from tests.telemetry.collector import Labels, collecting, samples_of

Samples = dict[tuple[str, Labels], float]

ROUTES = st.sampled_from(["/cdap/v1/enforce", "unknown", 'a"b\\c\n'])
ANSWERED = st.tuples(ROUTES, st.sampled_from([200, 403, 500]), st.floats(0, 100))
DECIDED = st.tuples(st.sampled_from(["cdap", "pdp"]), st.booleans())


def same(ours: Samples, theirs: Samples) -> bool:
    """Whether both have the same samples with the same values; a NaN is one."""
    return ours.keys() == theirs.keys() and all(
        ours[key] == theirs[key] or (math.isnan(ours[key]) and math.isnan(theirs[key])) for key in ours
    )


def received(metrics: ServiceMetrics) -> Samples:
    """What a collector reads out of the bytes of an export."""
    found = list(otel_metrics(metrics.registry.collect(), since=1, now=2))
    scope = ScopeMetrics(InstrumentationScope("x"), found, "")
    request = encode_metrics(MetricsData([ResourceMetrics(Resource({}), [scope], "")]))
    return {
        key: value
        for resource in type(request).FromString(request.SerializeToString()).resource_metrics
        for scoped in resource.scope_metrics
        for metric in scoped.metrics
        for key, value in samples_of(metric).items()
    }


@given(
    st.lists(ANSWERED), st.lists(DECIDED), st.integers(-3, 3), st.sampled_from(PolicyState), st.none() | st.floats(0, 9)
)
def test_each_sample_is_in_both(
    answered: list[tuple[str, int, float]],
    decided: list[tuple[str, bool]],
    under_way: int,
    state: PolicyState,
    age: float | None,
) -> None:
    metrics = ServiceMetrics()
    for each in answered:
        metrics.answered(*each)
    for one in decided:
        metrics.decided(*one)
    metrics.count(UNDER_WAY, under_way)
    metrics.watch(lambda: [*state_metrics("cdapdev", state, age, 3, 0), *journal_metrics(1, age)])
    assert same(received(metrics), samples(metrics.text().decode()))


def test_a_collector_has_the_figures_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        for name, value in collector.environment.items():
            monkeypatch.setenv(name, value)
        telemetry = Telemetry("ranger-cdap", choice_of(collector.environment))
        with serving(READ_AND_WRITE, tmp_path, telemetry=telemetry) as world:
            for path in ("/health/live", "/nothing"):
                world.ask(None, "GET", path)
            until(lambda: world.state.metrics.number(UNDER_WAY) == 0)
            text = world.state.metrics.text().decode()
            until(lambda: stable(collector.figures) == stable(samples(world.state.metrics.text().decode())))
            assert stable(samples(text)) == stable(collector.figures)
        telemetry.close()
    assert collector.services == {"ranger-cdap"}


def stable(found: Samples) -> Samples:
    """The figures that do not change by themselves."""
    return {key: value for key, value in found.items() if "age" not in key[0]}
