"""`Telemetry`: the tracer and the metrics of one process, over OpenTelemetry's SDK. Needs the extra `telemetry`.

Laws: recording waits for nothing, however slow the collector is, and what does not fit into the SDK's queue is dropped;
the global providers, which belong to the embedding program, are neither used nor set.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from importlib.metadata import version
from typing import Final

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    TraceFlags,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.status import Status, StatusCode

from ranger_cdap.telemetry.choice import TelemetryChoice
from ranger_cdap.telemetry.propagation import TRACEPARENT
from ranger_cdap.telemetry.registry_metrics import Collect, RegistryExporter
from ranger_cdap.telemetry.trace_ids import TraceIds

CLOSE_SECONDS: Final = 5.0
"""Longest wait at the end of a program for a collector that takes nothing."""
_SCOPE: Final = "ranger_cdap"
_LONGEST_PARENT: Final = 256
"""Characters; version 00 has 55, and a later one may have more."""

Attributes = Mapping[str, str | int]

_chosen: Final[ContextVar[TraceIds | None]] = ContextVar("chosen", default=None)


class _Ids(RandomIdGenerator):
    """Random ids, or the chosen ones."""

    def generate_span_id(self) -> int:
        chosen = _chosen.get()
        return chosen.span if chosen else super().generate_span_id()

    def generate_trace_id(self) -> int:
        chosen = _chosen.get()
        return chosen.trace if chosen else super().generate_trace_id()


class Telemetry:
    """Spans and metrics of the service of that name; `choice` says which of them are sent.

    `processor` and `exporter`: where spans and metrics go; to the collector of the `OTEL_*` variables if `None`.

    Raises:
        ValueError: an `OTEL_*` variable has a value that the SDK cannot use.
    """

    def __init__(
        self,
        name: str,
        choice: TelemetryChoice,
        *,
        processor: SpanProcessor | None = None,
        exporter: MetricExporter | None = None,
    ) -> None:
        self.choice = choice
        resource, ours = _resource(name), (_SCOPE, version("ranger-cdap"))
        self._collect: Collect = tuple
        self._closing: list[Callable[[], None]] = []
        tracers = TracerProvider(resource=resource, id_generator=_Ids(), shutdown_on_exit=False)
        self._tracer, self._sampler = tracers.get_tracer(*ours), tracers.sampler
        if choice.traces:
            tracers.add_span_processor(processor or BatchSpanProcessor(OTLPSpanExporter()))
            self._closing.append(tracers.shutdown)
        if choice.metrics:
            sends = RegistryExporter(exporter or OTLPMetricExporter(), lambda: self._collect())
            try:
                reader = PeriodicExportingMetricReader(sends)
            except ValueError:
                self.close()
                raise
            meters = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
            # The reader exports only if an instrument has a value; this one stands for all that is collected.
            meters.get_meter(*ours).create_observable_gauge(_SCOPE, [_one])
            self._closing.append(meters.shutdown)

    def begin(
        self,
        name: str,
        *,
        start: int | None = None,
        parent: Span | None = None,
        ids: TraceIds | None = None,
        attributes: Attributes | None = None,
        links: Sequence[Link] = (),
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        """Return a new span, which begins now or at `start` (epoch nanoseconds).

        Args:
            parent: the span above; `None` for a trace of its own.
            ids: those of the span, instead of random ones; its trace's id only without a parent.
            links: spans of other traces.
        """
        context = set_span_in_context(parent, Context()) if parent is not None else Context()
        token = _chosen.set(ids)
        try:
            return self._tracer.start_span(name, context, kind, attributes, links, start)
        finally:
            _chosen.reset(token)

    def served(
        self,
        name: str,
        start: int,
        end: int,
        attributes: Attributes,
        *,
        failed: bool = False,
        ids: TraceIds | None = None,
        traceparent: str = "",
    ) -> str:
        """Record the span of a served request, and return the id of its trace.

        Its parent is that of `traceparent`; with `ids` of its own it is linked to it instead.
        """
        parent = remote_span(traceparent)
        links = [Link(parent.get_span_context())] if parent is not None and ids is not None else []
        span = self.begin(
            name,
            start=start,
            parent=None if ids is not None else parent,
            ids=ids,
            attributes=attributes,
            links=links,
            kind=SpanKind.SERVER,
        )
        if failed:
            span.set_status(Status(StatusCode.ERROR))
        span.end(end)
        return f"{span.get_span_context().trace_id:032x}"

    def span_of(self, ids: TraceIds) -> Span:
        """Return the span with these ids, which another program records, to be a parent.

        It is sampled if a span that begins a trace with that id would be: the programs have the same sampler.
        """
        sampled = self._sampler.should_sample(Context(), ids.trace, _SCOPE).decision is Decision.RECORD_AND_SAMPLE
        flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
        return NonRecordingSpan(SpanContext(ids.trace, ids.span, is_remote=True, trace_flags=flags))

    def watch(self, collect: Collect) -> None:
        """Send what `collect` reads, in the interval of `OTEL_METRIC_EXPORT_INTERVAL`, if metrics are sent."""
        self._collect = collect

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Send what is queued, for so many seconds at most; idempotent."""
        closing, self._closing = self._closing, []
        threads = [threading.Thread(target=close, name="telemetry-end", daemon=True) for close in closing]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + seconds
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def remote_span(traceparent: str) -> Span | None:
    """Return the span that a `traceparent` names; None if it names none."""
    if len(traceparent) > _LONGEST_PARENT:
        return None
    context = TraceContextTextMapPropagator().extract({TRACEPARENT: traceparent}, Context())
    span = get_current_span(context)
    return span if span.get_span_context().is_valid else None


def _one(_options: CallbackOptions) -> Sequence[Observation]:
    return [Observation(1)]


def _resource(name: str) -> Resource:
    """Return what describes this process; `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` prevail."""
    ours = {
        "service.name": name,
        "service.version": version("ranger-cdap"),
        "service.instance.id": str(uuid.uuid4()),
    }
    return Resource.create({**ours, **OTELResourceDetector().detect().attributes})
