"""A collector that is down does not fill the log, and cannot write into it as it likes."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.telemetry.sdk_log import in_short, shorten_sdk_log

OF_SDK = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


@pytest.fixture
def sdk() -> Iterator[logging.Logger]:
    """The SDK's logger, as it was afterwards."""
    top = logging.getLogger("opentelemetry")
    before = top.handlers[:], top.propagate
    yield logging.getLogger(OF_SDK)
    top.handlers[:], top.propagate = before


def test_one_warning_a_minute_is_a_line_of_ours(sdk: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    shorten_sdk_log(lambda: now)
    seen = []
    for now in (0.0, 1.0, 59.0, 60.0, 61.0, 130.0):
        caplog.clear()
        sdk.info("unimportant")
        sdk.warning("Transient error %s, retrying", now)
        seen.append([(entry.name, entry.getMessage()) for entry in caplog.records])
    ours = "ranger_cdap.telemetry.sdk_log"
    assert seen == [
        [(ours, "OpenTelemetry: Transient error 0.0, retrying")],
        [],
        [],
        [(ours, "OpenTelemetry: Transient error 60.0, retrying")],
        [],
        [(ours, "OpenTelemetry: Transient error 130.0, retrying")],
    ]


@given(st.text() | st.text().map(lambda text: f"code: 500, reason: {text * 500}"))
def test_a_message_is_one_short_line(message: str) -> None:
    text = in_short(message)
    assert len(text) <= 300
    assert text.isprintable()


def test_no_connection_is_said_in_a_few_words() -> None:
    of_urllib3 = "Transient error HTTPConnectionPool(host='h', port=4318): Max retries exceeded with url: /v1/traces "
    of_urllib3 += "(Caused by NewConnectionError('<object>: Failed to establish: [Errno 111] Connection refused'))"
    assert in_short(of_urllib3) == "no connection to the collector: Connection refused"
