"""Figures as Prometheus would read them, of the decision service and of the sync job."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Family:
    """What has one name: a page has a row for it."""

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str


def families(text: str) -> list[Family]:
    """All of them, with the names that a query uses for counters and gauges."""
    found = []
    for family in text_string_to_metric_families(text):
        if family.name.endswith("_created"):
            continue
        suffix = "_total" if family.type == "counter" else ""
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        found.append(Family(family.name + suffix, family.type, tuple(sorted(labels)), family.documentation))
    return found


def samples(text: str) -> dict[tuple[str, Labels], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
