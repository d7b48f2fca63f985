"""A collector on this machine: what it receives by OTLP over HTTP, decoded; and collectors that take nothing."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class ReceivedSpan:
    """A span as a collector sees it; ids as hexadecimal text, `service` that of its resource."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start: int
    end: int
    attributes: dict[str, Any]
    links: list[tuple[str, str]]
    is_server: bool
    failed: bool


@dataclass
class Collector:
    """What has been received; `headers` are those of the last request."""

    url: str = ""
    spans: list[ReceivedSpan] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that name this collector, and let nothing wait long."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "50"}

    def span(self, name: str) -> ReceivedSpan:
        """The first span of that name, as soon as it is there."""
        return self.named(name, 1)[0]

    def named(self, name: str, number: int) -> list[ReceivedSpan]:
        """All spans of that name, as soon as there are so many."""
        with self.arrived:
            found = self.arrived.wait_for(lambda: len(self._of(name)) >= number, 20)
            assert found, f"{number} of {name!r}, but {[span.name for span in self.spans]}"
            return self._of(name)

    def _of(self, name: str) -> list[ReceivedSpan]:
        return [span for span in self.spans if span.name == name]

    def receive(self, path: str, body: bytes, headers: dict[str, str]) -> None:
        with self.arrived:
            self.raw.append(body)
            self.headers = headers
            assert path == "/v1/traces"
            self._receive_spans(ExportTraceServiceRequest.FromString(body))
            self.arrived.notify_all()

    def _receive_spans(self, request: Any) -> None:
        for resource in request.resource_spans:
            service = _attributes(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [
                    ReceivedSpan(
                        service,
                        span.name,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        span.start_time_unix_nano,
                        span.end_time_unix_nano,
                        _attributes(span.attributes),
                        [(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
                        span.kind == span.SPAN_KIND_SERVER,
                        span.status.code == span.status.STATUS_CODE_ERROR,
                    )
                    for span in scope.spans
                ]


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


@contextmanager
def collecting(status: int = 200) -> Iterator[Collector]:
    """A collector that answers everything with that status; it keeps what it accepts."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if status == 200:
                collector.receive(self.path, body, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def hanging() -> Iterator[Collector]:
    """A collector that accepts connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        yield Collector(f"http://127.0.0.1:{listening.getsockname()[1]}")


def refusing() -> Collector:
    """A collector that is not there."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return Collector(f"http://127.0.0.1:{listening.getsockname()[1]}")


SLOW: Final = 2.0
"""Seconds; no request of ours takes as long, and every time-out of an exporter is longer."""
