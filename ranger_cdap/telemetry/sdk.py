"""`Telemetry`: the spans of one process, over OpenTelemetry's SDK. Needs the extra `telemetry`.

Laws: recording waits for nothing, however slow the collector is, and what does not fit into the SDK's queue is dropped;
the global provider, which belongs to the embedding program, is neither used nor set; an error of tracing is logged.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from importlib.metadata import version

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ranger_cdap.telemetry import TRACEPARENT, TraceIds

logger = logging.getLogger(__name__)
_chosen: ContextVar[TraceIds | None] = ContextVar("chosen", default=None)


class _Ids(RandomIdGenerator):
    def generate_span_id(self) -> int:
        return ids.span if (ids := _chosen.get()) else super().generate_span_id()

    def generate_trace_id(self) -> int:
        return ids.trace if (ids := _chosen.get()) else super().generate_trace_id()


class Telemetry:
    """Spans of the service of that name; they go to `processor`, or to the collector of the `OTEL_*` variables.

    Raises:
        ValueError: an `OTEL_*` variable has a value that the SDK cannot use.
    """

    def __init__(self, name: str, processor: SpanProcessor | None = None) -> None:
        ours = {"service.name": name, "service.version": version("ranger-cdap")}
        resource = Resource.create({**ours, **OTELResourceDetector().detect().attributes})
        self._provider = TracerProvider(resource=resource, id_generator=_Ids(), shutdown_on_exit=False)
        self._provider.add_span_processor(processor or BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("ranger_cdap")

    def record(
        self,
        name: str,
        start: int,
        attributes: Mapping[str, str | int],
        *,
        failed: bool,
        ids: TraceIds | None = None,
        traceparent: str = "",
        linked: Iterable[TraceIds] = (),
    ) -> str:
        """Record a span from `start` (epoch nanoseconds) until now; return the id of its trace, empty without one.

        Its parent is that of `traceparent`; with `ids` of its own it is linked to it instead, or to `linked`.
        """
        token = _chosen.set(ids)
        try:
            parent = TraceContextTextMapPropagator().extract({TRACEPARENT: traceparent[:256]}, Context())
            links = [Link(SpanContext(*each, is_remote=True)) for each in linked]
            if ids is not None and (above := get_current_span(parent).get_span_context()).is_valid:
                parent, links = Context(), [Link(above)]
            span = self._tracer.start_span(name, parent, SpanKind.SERVER, attributes, links, start)
            if failed:
                span.set_status(Status(StatusCode.ERROR))
            span.end()
            return f"{span.get_span_context().trace_id:032x}"
        except Exception as e:  # the work goes on
            logger.warning("a span is not recorded: %s", type(e).__name__)
            return ""
        finally:
            _chosen.reset(token)

    def close(self, seconds: float = 5.0) -> None:
        """Send what is queued, for so many seconds at most; idempotent."""
        thread = threading.Thread(target=self._provider.shutdown, name="telemetry-end", daemon=True)
        thread.start()
        thread.join(seconds)
