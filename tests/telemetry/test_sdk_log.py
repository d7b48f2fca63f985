"""A collector that is down does not fill the log, and cannot write into it as it likes."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.telemetry.start import start_telemetry

OF_SDK = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


@pytest.fixture
def sdk(monkeypatch: pytest.MonkeyPatch) -> Iterator[logging.Logger]:
    """The SDK's logger, which is afterwards as it was."""
    top = logging.getLogger("opentelemetry")
    before = top.handlers[:], top.propagate
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    yield logging.getLogger(OF_SDK)
    top.handlers[:], top.propagate = before


def start() -> None:
    """Begin and end to send traces; how the SDK logs stays."""
    telemetry = start_telemetry("x")
    assert telemetry is not None
    telemetry.close()


def test_one_warning_a_minute_is_a_line_of_ours(
    sdk: logging.Logger, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    start()
    seen = []
    for now in (0.0, 1.0, 59.0, 60.0, 61.0, 130.0):
        monkeypatch.setattr(time, "monotonic", lambda now=now: now)
        caplog.clear()
        sdk.info("unimportant")
        sdk.warning("Transient error %s, retrying", now)
        seen.append([(entry.name, entry.getMessage()) for entry in caplog.records])
    ours = "ranger_cdap.telemetry.start"
    assert seen == [
        [(ours, "OpenTelemetry: Transient error 0.0, retrying")],
        [],
        [],
        [(ours, "OpenTelemetry: Transient error 60.0, retrying")],
        [],
        [(ours, "OpenTelemetry: Transient error 130.0, retrying")],
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text() | st.text().map(lambda text: f"code: 500, reason: {text * 500}"))
def test_a_message_is_one_short_line(sdk: logging.Logger, caplog: pytest.LogCaptureFixture, message: str) -> None:
    caplog.clear()
    start()
    sdk.warning("%s", message)
    (entry,) = caplog.records
    assert len(entry.getMessage()) <= 320
    assert entry.getMessage().isprintable()
