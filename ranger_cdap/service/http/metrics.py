"""Prometheus metrics of the decision service. No label holds the name of a user, an entity or a caller."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from math import inf
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from ranger_cdap.policies.refresh.refresh_state import PolicyState
from ranger_cdap.service.http.tally import Name, Tally

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0)

_REQUESTS: Final = "ranger_cdap_requests"
_SECONDS_OF: Final = "ranger_cdap_request_seconds"
_SUM: Final = "ranger_cdap_request_seconds_sum"
_DECISIONS: Final = "ranger_cdap_decisions"
_COUNTERS: Final = {
    "ranger_cdap_events_stored": "Records stored for the sync job.",
    "ranger_cdap_checks_journalled": "Allowed checks journalled before they were answered.",
    "ranger_cdap_checks_not_journalled": "Checks denied because their journal entry could not be written.",
    "ranger_cdap_events_refused": "Rejected records for the sync job; the log has the first of each kind.",
}
_GAUGES: Final = {
    "ranger_cdap_requests_under_way": "Requests in progress.",
    "ranger_cdap_hello_differences": "Settings that differ from CDAP's.",
}

Reading = Callable[[], Iterable[Metric]]


class ServiceMetrics:
    """Counters of one decision service, whose processes count in a tally each; `others` are those of its workers.

    The names that begin with `ranger_pdp` are those of Ranger's Policy Decision Point.
    """

    def __init__(self, tally: Tally | None = None, others: Iterable[Tally] = ()) -> None:
        self.tally = tally if tally is not None else Tally()
        self._tallies = (self.tally, *others)
        self.registry = CollectorRegistry()
        self.under_way = Figure(self.tally, "ranger_cdap_requests_under_way")
        self.under_way.set(0)  # those of a killed worker are not under way any more
        self.events_stored = Figure(self.tally, "ranger_cdap_events_stored")
        self.checks_journalled = Figure(self.tally, "ranger_cdap_checks_journalled")
        self.checks_not_journalled = Figure(self.tally, "ranger_cdap_checks_not_journalled")
        self.events_refused = Figure(self.tally, "ranger_cdap_events_refused")
        self.hello_differences = Figure(self.tally, "ranger_cdap_hello_differences")
        # Finding a place by its name costs more than counting.
        self._of_route: dict[tuple[str, int], tuple[int, int, tuple[int, ...]]] = {}
        self._copied: dict[Name, float] = {}
        self._of_decision: dict[tuple[str, bool], int] = {}
        self.registry.register(_Watched(self._counted))

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        places = self._of_route.get((route, status))
        if places is None:
            buckets = tuple(self.tally.place(_SECONDS_OF, route, _le(most)) for most in (*_SECONDS, inf))
            counted = self.tally.place(_REQUESTS, route, str(status))
            places = counted, self.tally.place(_SUM, route), buckets
            self._of_route[route, status] = places
        counted, total, buckets = places
        self.tally.observe((counted, buckets[bisect_left(_SECONDS, seconds)]), total, seconds)

    def decided(self, interface: str, allowed: bool) -> None:
        """Count a decision."""
        place = self._of_decision.get((interface, allowed))
        if place is None:
            place = self.tally.place(_DECISIONS, interface, "allowed" if allowed else "denied")
            self._of_decision[interface, allowed] = place
        self.tally.add(place)

    def copy(self, numbers: Mapping[Name, float]) -> None:
        """Add to the tally how much each of these numbers has grown since the last copy."""
        for name, number in numbers.items():
            self.tally.add(self.tally.place(*name), amount=number - self._copied.get(name, 0.0))
            self._copied[name] = number

    def watch(self, reading: Reading) -> None:
        """Add metrics that are read on demand."""
        self.registry.register(_Watched(reading))

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self.registry)

    def of_workers(self, name: str) -> Counter[str]:
        """Return the sums over the workers of what they count under a name, by its label; empty without one."""
        found = Counter[str]()
        for tally in self._tallies[1:]:
            for (each, *labels), number in tally:
                if each == name:
                    found[labels[0] if labels else ""] += int(number)
        return found

    def _counted(self) -> Iterable[Metric]:
        sums: dict[str, dict[Name, float]] = {}
        for tally in self._tallies:
            for (name, *labels), number in tally:
                of_name = sums.setdefault(name, {})
                of_name[tuple(labels)] = of_name.get(tuple(labels), 0.0) + number
        requests, total = sums.get(_REQUESTS, {}), sums.get(_SUM, {})
        yield _counters(_REQUESTS, "Requests by route and status.", ["route", "status"], requests)
        yield _times(total, sums.get(_SECONDS_OF, {}))
        yield _counters(_DECISIONS, "Decisions by interface and result.", ["interface", "result"],
                        sums.get(_DECISIONS, {}))  # fmt: skip
        for name, help_text in _COUNTERS.items():
            yield CounterMetricFamily(name, help_text, value=sums.get(name, {}).get((), 0.0))
        for name, help_text in _GAUGES.items():
            yield GaugeMetricFamily(name, help_text, value=sums.get(name, {}).get((), 0.0))
        build = GaugeMetricFamily("ranger_cdap_build_info", "The running version; always 1.", labels=["version"])
        build.add_metric([version("ranger-cdap")], 1)
        yield build
        yield from _policy_decision_point(requests, sum(total.values()))


class Figure:
    """One number of a tally: a counter or a gauge."""

    def __init__(self, tally: Tally, *name: str) -> None:
        self._tally = tally
        self._place = tally.place(*name)

    @property
    def number(self) -> float:
        """Return it."""
        return self._tally.number(self._place)

    def inc(self, amount: float = 1.0) -> None:
        """Add to it."""
        self._tally.add(self._place, amount=amount)

    def set(self, number: float) -> None:
        """Replace it."""
        self._tally.set(self._place, number)


def _counters(name: str, help_text: str, labels: Sequence[str], numbers: Mapping[Name, float]) -> Metric:
    family = CounterMetricFamily(name, help_text, labels=labels)
    for values, number in sorted(numbers.items()):
        family.add_metric(values, number)
    return family


def _times(total: Mapping[Name, float], of_buckets: Mapping[Name, float]) -> Metric:
    """Return the histogram of the times: its buckets count what took at most so long, whatever else it was."""
    family = HistogramMetricFamily(_SECONDS_OF, "Time from the request's headers to its response.", labels=["route"])
    for (route,), seconds in sorted(total.items()):
        so_far, buckets = 0.0, []
        for most in map(_le, (*_SECONDS, inf)):
            so_far += of_buckets.get((route, most), 0.0)
            buckets.append((most, so_far))
        family.add_metric([route], buckets, sum_value=seconds)
    return family


def _le(most: float) -> str:
    return "+Inf" if most == inf else repr(most)


def _policy_decision_point(requests: Mapping[Name, float], seconds: float) -> Iterable[Metric]:
    """Yield the metrics of Ranger's Policy Decision Point (decision-api.md)."""

    def number(first: int, last: int) -> float:
        return sum(count for (_, status), count in requests.items() if first <= int(status) <= last)

    total = number(0, 999)
    yield CounterMetricFamily("ranger_pdp_requests", "Requests.", value=total)
    yield CounterMetricFamily("ranger_pdp_requests_success", "Successful requests.", value=number(0, 399))
    yield CounterMetricFamily("ranger_pdp_requests_bad_request", "Invalid requests.", value=number(400, 499))
    yield CounterMetricFamily("ranger_pdp_requests_error", "Requests with a server error.", value=number(500, 999))
    yield CounterMetricFamily("ranger_pdp_auth_failures", "Unauthenticated requests.", value=number(401, 401))
    average = 1000 * seconds / total if total else 0.0
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
