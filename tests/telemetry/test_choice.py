"""What the standard variables of OpenTelemetry switch on, and what they cannot."""

from __future__ import annotations

import logging

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.util.re import parse_env_headers

from ranger_cdap.errors import ConfigError
from ranger_cdap.telemetry.start import wants_traces

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}

# variables: whether traces are sent
CHOICES = [
    ({}, False),
    ({"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_SAMPLER": "always_on"}, False),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": "  "}, False),
    (ENDPOINT, True),
    (ENDPOINT | {"OTEL_TRACES_EXPORTER": "None"}, False),
    (ENDPOINT | {"OTEL_SDK_DISABLED": "TRUE"}, False),
    (ENDPOINT | {"OTEL_SDK_DISABLED": "no"}, True),
    ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h/v1/traces"}, True),
    ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://h/v1/metrics"}, False),
    ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
    ({"OTEL_METRICS_EXPORTER": "otlp,prometheus"}, False),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318/"}, True),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector:4318", "OTEL_EXPORTER_OTLP_HEADERS": "a=b"}, True),
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, True),
    (
        ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"},
        True,
    ),
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Basic%20abc, x-tenant = one,"}, True),
]


def test_what_is_sent() -> None:
    assert [environment for environment, sent in CHOICES if wants_traces(environment) is not sent] == []


# variables, and what the sentence names
PROBLEMS = [
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ["`OTEL_EXPORTER_OTLP_PROTOCOL`", "`http/protobuf`"]),
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, ["`OTEL_EXPORTER_OTLP_TRACES_PROTOCOL`"]),
    (ENDPOINT | {"OTEL_TRACES_EXPORTER": "console"}, ["`OTEL_TRACES_EXPORTER` is `console`"]),
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_HEADERS": "s3cret"}, ["`OTEL_EXPORTER_OTLP_HEADERS`"]),
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "=s3cret"}, ["`OTEL_EXPORTER_OTLP_TRACES_HEADERS`"]),
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_HEADERS": "a=s3cret;x"}, ["percent-encode"]),
    (ENDPOINT | {"OTEL_EXPORTER_OTLP_HEADERS": "a=s3cret%0d%0ab"}, ["`name=value`"]),
    (
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_EXPORTER_OTLP_HEADERS": "a=s3cret"},
        ["`OTEL_EXPORTER_OTLP_ENDPOINT` is `http://collector:4318`", "others can read", "https://"],
    ),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://u:s3cret@h:4318"}, ["`OTEL_EXPORTER_OTLP_ENDPOINT`"]),
    ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "grpc://h:1"}, ["`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`"]),
]


@pytest.mark.parametrize(("environment", "named"), PROBLEMS)
def test_what_cannot_be_sent_is_one_sentence_without_secrets(environment: dict[str, str], named: list[str]) -> None:
    with pytest.raises(ConfigError) as problem:
        wants_traces(environment)
    assert all(part in str(problem.value) for part in named)
    assert "s3cret" not in str(problem.value)


@given(st.text(st.sampled_from('ab=,;%20dD \t"\\/é\n:')) | st.text())
@example("a=b,c")
@example("a=%C3%A9")
def test_the_sdk_logs_no_header_that_we_let_it_read(text: str) -> None:
    try:
        wants_traces(ENDPOINT | {"OTEL_EXPORTER_OTLP_HEADERS": text})
    except ConfigError:
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
