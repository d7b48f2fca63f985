"""Prometheus metrics of the decision service. No label holds the name of a user, an entity or a caller."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0)
_LE: Final = (*map(repr, _SECONDS), "+Inf")

REQUESTS: Final = "ranger_cdap_requests"
_SECONDS_OF: Final = "ranger_cdap_request_seconds"
_SUM: Final = "ranger_cdap_request_seconds_sum"
_DECISIONS: Final = "ranger_cdap_decisions"
EVENTS_STORED: Final = "ranger_cdap_events_stored"
EVENTS_REFUSED: Final = "ranger_cdap_events_refused"
CHECKS_JOURNALLED: Final = "ranger_cdap_checks_journalled"
CHECKS_NOT_JOURNALLED: Final = "ranger_cdap_checks_not_journalled"
UNDER_WAY: Final = "ranger_cdap_requests_under_way"
HELLO_DIFFERENCES: Final = "ranger_cdap_hello_differences"
_COUNTERS: Final = {
    EVENTS_STORED: "Records stored for the sync job.",
    CHECKS_JOURNALLED: "Allowed checks journalled before they were answered.",
    CHECKS_NOT_JOURNALLED: "Checks denied because their journal entry could not be written.",
    EVENTS_REFUSED: "Rejected records for the sync job; the log has the first of each kind.",
}
_GAUGES: Final = {
    UNDER_WAY: "Requests in progress.",
    HELLO_DIFFERENCES: "Settings that differ from CDAP's.",
}

Reading = Callable[[], Iterable[Metric]]
Labels = tuple[str, ...]


class ServiceMetrics:
    """Numbers of one decision service by metric and labels; safe to share between threads.

    The names that begin with `ranger_pdp` are those of Ranger's Policy Decision Point.
    """

    def __init__(self) -> None:
        self._numbers: defaultdict[tuple[str, ...], float] = defaultdict(float)
        self._lock = threading.Lock()
        self.registry = CollectorRegistry()
        self.registry.register(_Watched(self._counted))

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        bucket = _LE[bisect_left(_SECONDS, seconds)]
        with self._lock:
            self._numbers[REQUESTS, route, str(status)] += 1
            self._numbers[_SECONDS_OF, route, bucket] += 1
            self._numbers[_SUM, route] += seconds

    def decided(self, interface: str, allowed: bool) -> None:
        """Count a decision."""
        with self._lock:
            self._numbers[_DECISIONS, interface, "allowed" if allowed else "denied"] += 1

    def count(self, name: str, amount: int = 1) -> None:
        """Add the amount to a metric without labels."""
        with self._lock:
            self._numbers[name,] += amount

    def set(self, name: str, number: int) -> None:
        """Replace the number of a metric without labels."""
        with self._lock:
            self._numbers[name,] = number

    def number(self, name: str) -> float:
        """Return the number of a metric, the sum over its labels."""
        return sum(self._of(name).values())

    def watch(self, reading: Reading) -> None:
        """Add metrics that are read on demand."""
        self.registry.register(_Watched(reading))

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self.registry)

    def _of(self, name: str) -> dict[Labels, float]:
        with self._lock:
            return {key[1:]: number for key, number in self._numbers.items() if key[0] == name}

    def _counted(self) -> Iterable[Metric]:
        requests, total = self._of(REQUESTS), self._of(_SUM)
        yield _counters(REQUESTS, "Requests by route and status.", ["route", "status"], requests)
        yield _times(total, self._of(_SECONDS_OF))
        yield _counters(_DECISIONS, "Decisions by interface and result.", ["interface", "result"], self._of(_DECISIONS))
        for name, help_text in _COUNTERS.items():
            yield CounterMetricFamily(name, help_text, value=self.number(name))
        for name, help_text in _GAUGES.items():
            yield GaugeMetricFamily(name, help_text, value=self.number(name))
        yield gauge("ranger_cdap_build_info", "The running version; always 1.", 1, version=version("ranger-cdap"))
        yield from _policy_decision_point(requests, sum(total.values()))


def _counters(name: str, help_text: str, labels: Sequence[str], numbers: Mapping[Labels, float]) -> Metric:
    family = CounterMetricFamily(name, help_text, labels=labels)
    for values, number in sorted(numbers.items()):
        family.add_metric(values, number)
    return family


def _times(total: Mapping[Labels, float], of_buckets: Mapping[Labels, float]) -> Metric:
    """Return the histogram of the times: its buckets count what took at most so long, whatever else it was."""
    family = HistogramMetricFamily(_SECONDS_OF, "Time from the request's headers to its response.", labels=["route"])
    for (route,), seconds in sorted(total.items()):
        so_far = accumulate(of_buckets.get((route, most), 0.0) for most in _LE)
        family.add_metric([route], list(zip(_LE, so_far, strict=True)), sum_value=seconds)
    return family


def _policy_decision_point(requests: Mapping[Labels, float], seconds: float) -> Iterable[Metric]:
    """Yield the metrics of Ranger's Policy Decision Point (decision-api.md)."""

    def number(first: int, last: int) -> float:
        return sum(count for (_, status), count in requests.items() if first <= int(status) <= last)

    total = number(0, 999)
    for name, help_text, first, last in (
        ("ranger_pdp_requests", "Requests.", 0, 999),
        ("ranger_pdp_requests_success", "Successful requests.", 0, 399),
        ("ranger_pdp_requests_bad_request", "Invalid requests.", 400, 499),
        ("ranger_pdp_requests_error", "Requests with a server error.", 500, 999),
        ("ranger_pdp_auth_failures", "Unauthenticated requests.", 401, 401),
    ):
        yield CounterMetricFamily(name, help_text, value=number(first, last))
    average = 1000 * seconds / total if total else 0.0
    yield GaugeMetricFamily("ranger_pdp_request_latency_avg_ms", "Average time of a request.", value=average)


class _Watched(Collector):
    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def collect(self) -> Iterable[Metric]:
        return self._reading()


def gauge(name: str, help_text: str, value: float | None, **labels: str) -> Metric:
    """Return a metric of one number; NaN for None."""
    family = GaugeMetricFamily(name, help_text, labels=list(labels))
    family.add_metric(list(labels.values()), float("nan") if value is None else float(value))
    return family


def state_metrics(service: str, snapshot: Snapshot) -> Iterable[Metric]:
    """Yield the metrics of a Ranger service's policies."""
    states = GaugeMetricFamily(
        "ranger_cdap_policies_state", "1 for the state of the policies.", labels=["service", "state"]
    )
    for each in PolicyState:
        states.add_metric([service, each.value], float(each is snapshot.state))
    yield states
    age = None if snapshot.contact_at is None else max(0.0, time.time() - snapshot.contact_at)
    problems = len(snapshot.engine.problems) if snapshot.engine is not None else 0
    number = snapshot.versions.policies
    yield gauge("ranger_cdap_policies_version", "Version of the policies in effect.", number, service=service)
    yield gauge("ranger_cdap_policies_age_seconds", "Seconds since Ranger Admin confirmed them.", age, service=service)
    yield gauge("ranger_cdap_policies_problems", "Problems found in the policies.", problems, service=service)
