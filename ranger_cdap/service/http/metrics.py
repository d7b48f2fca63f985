"""Prometheus metrics of the decision service. No label holds the name of a user, an entity or a caller."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ranger_cdap.policies.refresh.refresh_state import PolicyState

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0)

Reading = Callable[[], Iterable[Metric]]


class ServiceMetrics:
    """Counters of one decision service.

    The names that begin with `ranger_pdp` are those of Ranger's Policy Decision Point.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "ranger_cdap_requests", "Requests by route and status.", ["route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "ranger_cdap_request_seconds", "Time from the request's headers to its response.", ["route"],
            buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip
        self.under_way = Gauge("ranger_cdap_requests_under_way", "Requests in progress.", registry=self.registry)
        self.decisions = Counter(
            "ranger_cdap_decisions",
            "Decisions by interface and result.",
            ["interface", "result"],
            registry=self.registry,
        )
        self.events_stored = Counter(
            "ranger_cdap_events_stored", "Records stored for the sync job.", registry=self.registry
        )
        self.checks_journalled = Counter(
            "ranger_cdap_checks_journalled",
            "Allowed checks journalled before they were answered.",
            registry=self.registry,
        )
        self.checks_not_journalled = Counter(
            "ranger_cdap_checks_not_journalled",
            "Checks denied because their journal entry could not be written.",
            registry=self.registry,
        )
        self.events_refused = Counter(
            "ranger_cdap_events_refused",
            "Rejected records for the sync job; the log has the first of each kind.",
            registry=self.registry,
        )
        self.hello_differences = Gauge(
            "ranger_cdap_hello_differences",
            "Settings that differ from CDAP's.",
            registry=self.registry,
        )
        build = Gauge("ranger_cdap_build_info", "The running version; always 1.", ["version"], registry=self.registry)
        build.labels(version("ranger-cdap")).set(1)
        # Finding a child by its labels costs more than counting.
        self._of_route: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self._pdp = _PolicyDecisionPoint()
        self.registry.register(self._pdp)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        counted = self._of_route.get((route, status))
        if counted is None:
            counted = (self.requests.labels(route, str(status)), self.seconds.labels(route))
            self._of_route[route, status] = counted
        counted[0].inc()
        counted[1].observe(seconds)
        self._pdp.answered(status, seconds)

    def decided(self, interface: str, allowed: bool) -> None:
        """Count a decision."""
        self.decisions.labels(interface, "allowed" if allowed else "denied").inc()

    def watch(self, reading: Reading) -> None:
        """Add metrics that are read on demand."""
        self.registry.register(_Watched(reading))

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self.registry)


class _PolicyDecisionPoint(Collector):
    """Metrics of Ranger's Policy Decision Point (decision-api.md)."""

    def __init__(self) -> None:
        self._total = self._success = self._bad = self._error = self._not_known = 0
        self._seconds = 0.0

    def answered(self, status: int, seconds: float) -> None:
        self._total += 1
        self._seconds += seconds
        self._success += status < 400
        self._bad += 400 <= status < 500
        self._error += status >= 500
        self._not_known += status == 401

    def collect(self) -> Iterable[Metric]:
        yield CounterMetricFamily("ranger_pdp_requests", "Requests.", value=self._total)
        yield CounterMetricFamily("ranger_pdp_requests_success", "Successful requests.", value=self._success)
        yield CounterMetricFamily("ranger_pdp_requests_bad_request", "Invalid requests.", value=self._bad)
        yield CounterMetricFamily("ranger_pdp_requests_error", "Requests with a server error.", value=self._error)
        yield CounterMetricFamily("ranger_pdp_auth_failures", "Unauthenticated requests.", value=self._not_known)
        average = 1000 * self._seconds / self._total if self._total else 0.0
        yield GaugeMetricFamily("ranger_pdp_request_latency_avg_ms", "Average time of a request.", value=average)


class _Watched(Collector):
    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def collect(self) -> Iterable[Metric]:
        return self._reading()


def journal_metrics(open_checks: int, age: float | None) -> Iterable[Metric]:
    """Yield the metrics of the check journal; `age` is None if no watermark was written."""
    yield GaugeMetricFamily("ranger_cdap_checks_open", "Allowed creations whose end is not known.", value=open_checks)
    yield GaugeMetricFamily(
        "ranger_cdap_journal_age_seconds",
        "Seconds since the watermark of records and journalled checks; NaN without one.",
        value=float("nan") if age is None else age,
    )


def token_key_metrics(age: float | None) -> Iterable[Metric]:
    """Yield the metrics of the token keys; `age` is None if no key server has answered."""
    yield GaugeMetricFamily(
        "ranger_cdap_token_keys_age_seconds",
        "Seconds since the key server of tokens answered; NaN without one.",
        value=float("nan") if age is None else age,
    )


def state_metrics(service: str, state: PolicyState, age: float | None, number: int, problems: int) -> Iterable[Metric]:
    """Yield the metrics of a Ranger service's policies."""
    states = GaugeMetricFamily(
        "ranger_cdap_policies_state", "1 for the state of the policies.", labels=["service", "state"]
    )
    for each in PolicyState:
        states.add_metric([service, each.value], float(each is state))
    yield states
    figures = {
        "ranger_cdap_policies_version": ("Version of the policies in effect.", float(number)),
        "ranger_cdap_policies_age_seconds": (
            "Seconds since Ranger Admin confirmed them.",
            float("nan") if age is None else age,
        ),
        "ranger_cdap_policies_problems": ("Problems found in the policies.", float(problems)),
    }
    for name, (help_text, value) in figures.items():
        family = GaugeMetricFamily(name, help_text, labels=["service"])
        family.add_metric([service], value)
        yield family
