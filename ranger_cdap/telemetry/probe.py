"""`probe`: whether the collector accepts an export, which has nothing in it. Needs the extra `telemetry`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData
from opentelemetry.sdk.trace.export import SpanExportResult

from ranger_cdap.telemetry.choice import TelemetryChoice
from ranger_cdap.telemetry.sdk_log import in_short

_SECONDS: Final = 3.0
_SDK: Final = "opentelemetry"


def probe(choice: TelemetryChoice) -> Mapping[str, str]:
    """Return the reason why the collector does not accept a signal, by the name of each that is sent; empty if it does.

    The reason is the first that the SDK logs, in one line.
    """
    tries: dict[str, Callable[[], bool]] = {"traces": _traces, "metrics": _metrics}
    wanted = {"traces": choice.traces, "metrics": choice.metrics}
    return {name: _problem(accepted) for name, accepted in tries.items() if wanted[name]}


def _traces() -> bool:
    exporter = OTLPSpanExporter(timeout=_SECONDS)
    return exporter.export(()) is SpanExportResult.SUCCESS


def _metrics() -> bool:
    exporter = OTLPMetricExporter(timeout=_SECONDS)
    return exporter.export(MetricsData([])) is MetricExportResult.SUCCESS


def _problem(accepted: Callable[[], bool]) -> str:
    with _logged() as lines:
        try:
            if accepted():
                return ""
        except ValueError as e:
            return f"a value of an `OTEL_*` variable cannot be used: {e}"
    return f"the collector does not accept them: {in_short(lines[0]) if lines else 'it gives no reason'}"


@contextmanager
def _logged() -> Iterator[list[str]]:
    """Return the messages of the SDK, which go nowhere else."""
    lines, sdk = list[str](), logging.getLogger(_SDK)

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    before = sdk.handlers[:], sdk.propagate
    sdk.handlers[:], sdk.propagate = [Keep(logging.WARNING)], False
    try:
        yield lines
    finally:
        sdk.handlers[:], sdk.propagate = before
