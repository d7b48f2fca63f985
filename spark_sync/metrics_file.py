"""Metrics of the last run as a file for Prometheus's node exporter, without names of users or entities."""

from __future__ import annotations

import math
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from ranger_cdap.disk import os_errors_as, replace_file
from ranger_cdap.errors import SyncError
from spark_sync.ledger.life import PENDING_STATES, State
from spark_sync.report import RunReport

_FIGURES = {
    "ranger_cdap_sync_run_seconds": "Duration of the last run.",
    "ranger_cdap_sync_run_end_timestamp_seconds": "End of the last run, in seconds since 1970.",
    "ranger_cdap_sync_complete": "1 if the last run brought Ranger up to date, 0 if it stopped early.",
    "ranger_cdap_sync_oldest_pending_timestamp_seconds": (
        "Time of the oldest change that is still pending, in seconds since 1970; NaN without one."
    ),
    "ranger_cdap_sync_granted": "Grants written by the last run.",
    "ranger_cdap_sync_revoked": "Grants revoked by the last run.",
}
_OF_SOURCES = {
    "lines": "Lines read by the last run.",
    "rejected": "Lines rejected by the last run (dead letters).",
    "events": "New events of the last run.",
    "silent": "1 if the source's decision service lagged so far in the last run that the hold-back applied.",
}


def metrics_text(report: RunReport, *, began: float, ended: float) -> bytes:
    """Return the metrics of a run in Prometheus's text format; times are seconds since 1970."""
    registry = CollectorRegistry()
    pending = (life.ended or life.begun for life in report.waiting if life.state in PENDING_STATES or life.revoke)
    oldest = min((position.time / 1000 for position in pending), default=math.nan)
    values = (ended - began, ended, float(not report.trouble), oldest, len(report.granted), len(report.revoked))
    for (name, help_text), value in zip(_FIGURES.items(), values, strict=True):
        Gauge(name, help_text, registry=registry).set(value)
    lives = Gauge("ranger_cdap_sync_lives", "Lives in the ledger, by state.", ["state"], registry=registry)
    for state in State:
        lives.labels(state.value).set(report.counts.get(state, 0))
    for what, help_text in _OF_SOURCES.items():
        gauge = Gauge(f"ranger_cdap_sync_source_{what}", help_text, ["source"], registry=registry)
        for source in report.sources:
            value = source.name in report.silent if what == "silent" else getattr(source, what)
            gauge.labels(source.name).set(value)
    return generate_latest(registry)


def write_metrics(path: Path, report: RunReport, *, began: float, ended: float) -> None:
    """Write the metrics atomically.

    Raises:
        SyncError: the file cannot be written.
    """
    text = metrics_text(report, began=began, ended=ended)
    with os_errors_as(SyncError, f"`sync.metrics_file` `{path}` cannot be written"):
        replace_file(path, [text], mode=0o644)  # the exporter runs as another user
