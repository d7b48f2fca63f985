"""The trace of a program goes with what it asks, and OpenTelemetry is loaded by nobody but the program."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, get_current_span, use_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ranger_cdap import entity_id
from ranger_cdap.client import AsyncDecisionClient, ClientSettings, DecisionClient, Secret, ServiceRequest, operation
from ranger_cdap.client.exchange import trace_headers
from tests.service.fixtures import secret_of
from tests.telemetry.test_request_spans import PARENT, TRACE, tracing

TRACES, SPANS = st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1)


def span(trace: int, number: int, flags: int = 1) -> NonRecordingSpan:
    return NonRecordingSpan(SpanContext(trace, number, is_remote=False, trace_flags=TraceFlags(flags)))


@given(TRACES, SPANS, st.integers(0, 255))
def test_the_header_names_the_current_span(trace: int, number: int, flags: int) -> None:
    with use_span(span(trace, number, flags)):
        headers = trace_headers()
    named = TraceContextTextMapPropagator().extract(dict(headers), Context())
    context = get_current_span(named).get_span_context()
    assert (context.trace_id, context.span_id, context.trace_flags & 1) == (trace, number, flags & 1)


def test_without_a_current_span_there_is_no_header() -> None:
    assert trace_headers() == {}
    with use_span(span(0, 0)):
        assert trace_headers() == {}


def test_a_program_is_the_parent_of_the_request_that_its_client_sends(tmp_path: Path) -> None:
    asked = operation("alice", "dataset.get", entity_id("dataset", ["ns1", "kv"]))
    with tracing(tmp_path) as traced:
        settings = ClientSettings(url=traced.world.url, caller="delegate", secret=Secret(secret_of("delegate")))
        with use_span(span(int(TRACE, 16), int(PARENT, 16))), DecisionClient(settings) as client:
            assert client.ask(asked)
            assert asyncio.run(asynchronously(settings, asked))
        made = traced.spans(2)
    assert [(f"{each.context.trace_id:032x}", f"{each.parent.span_id:016x}") for each in made if each.parent] == [
        (TRACE, PARENT)
    ] * 2


async def asynchronously(settings: ClientSettings, asked: ServiceRequest[Any]) -> Any:
    async with AsyncDecisionClient(settings) as client:
        return await client.ask(asked)


@pytest.mark.parametrize("hidden", ["", "sys.modules['opentelemetry'] = None"], ids=["with the extra", "without"])
def test_a_client_loads_nothing_of_opentelemetry(hidden: str) -> None:
    program = (
        f"import sys\n{hidden}\nfrom ranger_cdap.client.exchange import request_headers\n"
        "from ranger_cdap.client import ClientSettings, ready\n"
        "print(sorted(request_headers(ClientSettings(url='http://127.0.0.1:1'), ready())))\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry.')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['X-Request-Id']", "[]"]
