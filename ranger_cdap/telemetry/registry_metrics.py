"""The metrics of Prometheus as OpenTelemetry's: the same figures under the same names. Needs the extra `telemetry`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from prometheus_client.core import Metric as Family

Collect = Callable[[], Iterable[Family]]
"""Reads all metrics, as `CollectorRegistry.collect` does."""

_BUCKET: Final = "le"
_NEVER_READ: Any = None
"""Least and greatest value of a histogram, which Prometheus does not keep and the protocol does not need."""


def otel_metrics(families: Iterable[Family], *, since: int, now: int) -> Iterator[Metric]:
    """Yield each family as a metric; times are epoch nanoseconds, `since` that of the beginning of the counts.

    Law: each sample of Prometheus's text is in it, with its labels and its value, and nothing else. A counter has its
    name without `_total`, which Prometheus adds again when it receives it.
    """
    for family in families:
        if not family.samples:
            continue
        if family.type == "histogram":
            yield Metric(family.name, family.documentation, "", _histogram(family, since, now))
            continue
        is_counter = family.type == "counter"
        counted = f"{family.name}_total" if is_counter else family.name
        points = [
            NumberDataPoint(sample.labels, since if is_counter else 0, now, sample.value)
            for sample in family.samples
            if sample.name == counted
        ]
        cumulative = AggregationTemporality.CUMULATIVE
        data = Sum(points, cumulative, is_monotonic=True) if is_counter else Gauge(points)
        yield Metric(family.name, family.documentation, family.unit, data)


def _histogram(family: Family, since: int, now: int) -> Histogram:
    buckets: dict[tuple[tuple[str, str], ...], dict[float, float]] = {}
    sums: dict[tuple[tuple[str, str], ...], float] = {}
    for sample in family.samples:
        labels = tuple((name, value) for name, value in sample.labels.items() if name != _BUCKET)
        if sample.name == f"{family.name}_bucket":
            buckets.setdefault(labels, {})[float(sample.labels[_BUCKET])] = sample.value
        elif sample.name == f"{family.name}_sum":
            sums[labels] = sample.value
    points = [
        _point(dict(labels), dict(sorted(so_far.items())), sums.get(labels, 0.0), since, now)
        for labels, so_far in buckets.items()
    ]
    return Histogram(points, AggregationTemporality.CUMULATIVE)


def _point(
    labels: Mapping[str, str], so_far: Mapping[float, float], total: float, since: int, now: int
) -> HistogramDataPoint:
    """Return a point whose buckets count only what is above the one before; the last bound is infinity."""
    counts = [int(number) for number in so_far.values()]
    return HistogramDataPoint(
        labels,
        since,
        now,
        count=counts[-1],
        sum=total,
        bucket_counts=[number - before for before, number in zip([0, *counts], counts, strict=False)],
        explicit_bounds=list(so_far)[:-1],
        min=_NEVER_READ,
        max=_NEVER_READ,
    )


class RegistryExporter(MetricExporter):
    """Exporter that sends what `collect` reads instead of what the SDK has counted; figures are kept once."""

    def __init__(self, inner: MetricExporter, collect: Collect) -> None:
        super().__init__()
        self._inner = inner
        self._collect = collect
        self._since = time.time_ns()

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any) -> MetricExportResult:
        """Send the metrics under the resource and scope of the data."""
        metrics = list(otel_metrics(self._collect(), since=self._since, now=time.time_ns()))
        if not metrics:
            return MetricExportResult.SUCCESS
        resources = [
            ResourceMetrics(
                each.resource,
                [ScopeMetrics(scope.scope, metrics, scope.schema_url) for scope in each.scope_metrics],
                each.schema_url,
            )
            for each in metrics_data.resource_metrics
        ]
        return self._inner.export(MetricsData(resources), timeout_millis, **kwargs)

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """Send what is queued, which is nothing."""
        return self._inner.force_flush(timeout_millis)

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        """End the connection."""
        self._inner.shutdown(timeout_millis, **kwargs)
