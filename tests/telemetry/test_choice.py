"""What the standard variables of OpenTelemetry switch on, and what they cannot."""

from __future__ import annotations

import logging

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.util.re import parse_env_headers

from ranger_cdap.telemetry.choice import choice_of

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}

# variables: traces, metrics
CHOICES = [
    ({}, False, False),
    ({"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_SAMPLER": "always_on"}, False, False),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": "  "}, False, False),
    (ENDPOINT, True, True),
    (ENDPOINT | {"OTEL_METRICS_EXPORTER": "none"}, True, False),
    (ENDPOINT | {"OTEL_TRACES_EXPORTER": "None"}, False, True),
    (ENDPOINT | {"OTEL_SDK_DISABLED": "TRUE"}, False, False),
    (ENDPOINT | {"OTEL_SDK_DISABLED": "no"}, True, True),
    ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h/v1/traces"}, True, False),
    ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://h/v1/metrics"}, False, True),
    ({"OTEL_TRACES_EXPORTER": "otlp"}, True, False),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318/"}, True, True),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector:4318", "OTEL_EXPORTER_OTLP_HEADERS": "a=b"}, True, True),
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, True, True),
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Basic%20abc, x-tenant = one,"}, True, True),
]


@pytest.mark.parametrize(("environment", "traces", "metrics"), CHOICES)
def test_what_is_sent(environment: dict[str, str], traces: bool, metrics: bool) -> None:
    choice = choice_of(environment)
    assert (choice.traces, choice.metrics, choice.problems) == (traces, metrics, ())
    assert choice.any == (traces or metrics)


# variables: traces, metrics, and what the sentence names
PROBLEMS = [
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, False, False, ["`OTEL_EXPORTER_OTLP_PROTOCOL`", "4318"]),
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, False, True, ["`OTEL_EXPORTER_OTLP_TRACES_PROTOCOL`"]),
    (ENDPOINT | {"OTEL_TRACES_EXPORTER": "console"}, False, True, ["`OTEL_TRACES_EXPORTER` is `console`"]),
    ({"OTEL_METRICS_EXPORTER": "otlp,prometheus"}, False, False, ["`OTEL_METRICS_EXPORTER` is `otlp,prometheus`"]),
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_HEADERS": "s3cret"}, False, False, ["`OTEL_EXPORTER_OTLP_HEADERS`"]),
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_HEADERS": "a=s3cret;x"}, False, False, ["percent-encode"]),
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_HEADERS": "a=s3cret%0d%0ab"}, False, False, ["`name=value`"]),
    (
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_EXPORTER_OTLP_HEADERS": "a=s3cret"},
        False,
        False,
        ["`OTEL_EXPORTER_OTLP_ENDPOINT` is `http://collector:4318`", "others can read", "https://"],
    ),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://u:s3cret@h:4318"}, False, False, ["`OTEL_EXPORTER_OTLP_ENDPOINT`"]),
    ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "grpc://h:1"}, False, False, ["`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`"]),
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_METRICS_HEADERS": "=s3cret"}, True, False, ["`OTEL_EXPORTER_OTLP_METRICS_HEAD"]),
]


@pytest.mark.parametrize(("environment", "traces", "metrics", "named"), PROBLEMS)
def test_what_cannot_be_sent_is_one_sentence_without_secrets(
    environment: dict[str, str], traces: bool, metrics: bool, named: list[str]
) -> None:
    choice = choice_of(environment)
    assert (choice.traces, choice.metrics) == (traces, metrics)
    (problem,) = choice.problems
    assert all(part in problem for part in named)
    assert "s3cret" not in problem


@given(st.text(st.sampled_from('ab=,;%20dD \t"\\/é\n:')) | st.text())
@example("a=b,c")
@example("a=%C3%A9")
def test_the_sdk_logs_no_header_that_we_let_it_read(text: str) -> None:
    if choice_of(ENDPOINT | {"OTEL_EXPORTER_OTLP_HEADERS": text}).problems:
        return
    seen = list[logging.LogRecord]()
    handler = logging.Handler()
    handler.emit = seen.append  # type: ignore[method-assign]
    logger = logging.getLogger("opentelemetry.util.re")
    logger.addHandler(handler)
    try:
        headers = parse_env_headers(text.strip(), liberal=True)
    finally:
        logger.removeHandler(handler)
    assert not seen
    assert all(value.isascii() and (value.isprintable() or not value) for value in headers.values())
