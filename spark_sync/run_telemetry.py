"""Traces and metrics of runs for OpenTelemetry, if the environment asks for them; nothing is imported if not."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ranger_cdap.telemetry.start import start_telemetry
from spark_sync.report import RunReport

if TYPE_CHECKING:
    from ranger_cdap.telemetry.sdk import Telemetry

logger = logging.getLogger(__name__)

NAME: Final = "ranger-cdap-sync"
"""The name of the job in OpenTelemetry, unless `OTEL_SERVICE_NAME` has another one."""
_INTERRUPTED_SECONDS: Final = 1.0


@contextmanager
def run_telemetry() -> Iterator[Telemetry | None]:
    """Return the telemetry of this program; at the end what is queued is sent, and after Ctrl-C not waited for long."""
    telemetry = start_telemetry(NAME)
    if telemetry is None:
        yield None
        return
    try:
        yield telemetry
    except KeyboardInterrupt:
        telemetry.close(_INTERRUPTED_SECONDS)
        raise
    finally:
        telemetry.close()


@dataclass(slots=True)
class TracedRun:
    """A run under way: what its stages report to, and its report once there is one."""

    progress: Callable[[str], None]
    report: RunReport | None = None


@contextmanager
def traced_run(telemetry: Telemetry | None, run_id: str, progress: Callable[[str], None]) -> Iterator[TracedRun]:
    """Trace a run, if traces are sent; `progress` receives its messages as well."""
    if telemetry is None or not telemetry.choice.traces:
        yield TracedRun(progress)
        return
    from spark_sync.run_spans import RunSpans

    spans = RunSpans(telemetry, run_id)

    def both(message: str) -> None:
        progress(message)
        with _logged():
            spans.progress(message)

    run = TracedRun(both)
    try:
        yield run
    finally:
        with _logged():
            spans.end(run.report)


@contextmanager
def _logged() -> Iterator[None]:
    """Log an error of tracing; the run goes on."""
    try:
        yield
    except Exception as e:
        logger.warning("a run is not traced: %s", type(e).__name__)


def send_metrics(telemetry: Telemetry, report: RunReport, *, began: float, ended: float) -> None:
    """Let the metrics of a run be sent until those of the next one; times are seconds since 1970."""
    from spark_sync.metrics_file import run_metrics

    telemetry.watch(run_metrics(report, began=began, ended=ended).collect)
