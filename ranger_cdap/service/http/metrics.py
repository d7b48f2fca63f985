"""Metrics of the decision service, in Prometheus's format. No name of a person, an entity or a caller is a label."""

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
            "ranger_cdap_request_seconds", "Time from the request's head to its answer.", ["route"],
            buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip
        self.under_way = Gauge(
            "ranger_cdap_requests_under_way", "Requests that are being answered.", registry=self.registry
        )
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
            "Allowed checks that were journalled before they were answered.",
            registry=self.registry,
        )
        self.checks_not_journalled = Counter(
            "ranger_cdap_checks_not_journalled",
            "Checks that were denied because the disk did not take their entry.",
            registry=self.registry,
        )
        self.events_refused = Counter(
            "ranger_cdap_events_refused",
            "Records for the sync job that were refused; the log names the first of each kind.",
            registry=self.registry,
        )
        self.hello_differences = Gauge(
            "ranger_cdap_hello_differences",
            "What CDAP's extension last said otherwise than the settings of this service.",
            registry=self.registry,
        )
        build = Gauge("ranger_cdap_build_info", "1, with the version that runs.", ["version"], registry=self.registry)
        build.labels(version("ranger-cdap")).set(1)
        # Finding a child by its labels costs more than counting.
        self._of_route: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self._pdp = _PolicyDecisionPoint()
        self.registry.register(self._pdp)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """One request was answered."""
        counted = self._of_route.get((route, status))
        if counted is None:
            counted = (self.requests.labels(route, str(status)), self.seconds.labels(route))
            self._of_route[route, status] = counted
        counted[0].inc()
        counted[1].observe(seconds)
        self._pdp.answered(status, seconds)

    def decided(self, interface: str, allowed: bool) -> None:
        """One decision was made."""
        self.decisions.labels(interface, "allowed" if allowed else "denied").inc()

    def watch(self, reading: Reading) -> None:
        """Add what is read when somebody asks for the metrics."""
        self.registry.register(_Watched(reading))

    def text(self) -> bytes:
        """All of it."""
        return generate_latest(self.registry)


class _PolicyDecisionPoint(Collector):
    """The figures of Ranger's Policy Decision Point (decision-api.md)."""

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
        yield CounterMetricFamily("ranger_pdp_requests_success", "Requests that were answered.", value=self._success)
        yield CounterMetricFamily("ranger_pdp_requests_bad_request", "Requests that were wrong.", value=self._bad)
        yield CounterMetricFamily("ranger_pdp_requests_error", "Requests that failed here.", value=self._error)
        yield CounterMetricFamily("ranger_pdp_auth_failures", "Unauthenticated requests.", value=self._not_known)
        average = 1000 * self._seconds / self._total if self._total else 0.0
        yield GaugeMetricFamily("ranger_pdp_request_latency_avg_ms", "Average time of a request.", value=average)


class _Watched(Collector):
    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def collect(self) -> Iterable[Metric]:
        return self._reading()


def journal_metrics(open_checks: int, age: float | None) -> Iterable[Metric]:
    """How the journal of checks is; `age` is None where no watermark was written."""
    yield GaugeMetricFamily(
        "ranger_cdap_checks_open", "Creations that were allowed and are not known to have ended.", value=open_checks
    )
    yield GaugeMetricFamily(
        "ranger_cdap_journal_age_seconds",
        "Seconds since the watermark of records and journalled checks; NaN without one.",
        value=float("nan") if age is None else age,
    )


def token_key_metrics(age: float | None) -> Iterable[Metric]:
    """How the keys of tokens are; `age` is None where no key server has answered."""
    yield GaugeMetricFamily(
        "ranger_cdap_token_keys_age_seconds",
        "Seconds since the key server of tokens answered; NaN without one.",
        value=float("nan") if age is None else age,
    )


def state_metrics(service: str, state: PolicyState, age: float | None, number: int, problems: int) -> Iterable[Metric]:
    """How the policies of one Ranger service are."""
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
        "ranger_cdap_policies_problems": ("Policies that cannot be used as they were meant.", float(problems)),
    }
    for name, (help_text, value) in figures.items():
        family = GaugeMetricFamily(name, help_text, labels=["service"])
        family.add_metric([service], value)
        yield family
