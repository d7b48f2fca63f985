"""What the doctor says of the collector of OpenTelemetry."""

from __future__ import annotations

import sys

import pytest

from ranger_cdap.doctor.finding import Finding, Health
from ranger_cdap.doctor.telemetry import examine_telemetry
from tests.telemetry.collector import collecting, refusing


def findings(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return list(examine_telemetry(environment))


def test_without_the_variables_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert findings({}, monkeypatch) == []
    assert findings({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_SDK_DISABLED": "true"}, monkeypatch) == []


def test_a_collector_that_accepts_is_well_and_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        found = findings(collector.environment, monkeypatch)
    assert [(each.check, each.health) for each in found] == [
        ("OpenTelemetry: traces", Health.WELL),
        ("OpenTelemetry: metrics", Health.WELL),
    ]
    assert (collector.spans, collector.figures, len(collector.raw)) == ([], {}, 2)


def test_only_what_is_sent_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        found = findings(collector.environment | {"OTEL_METRICS_EXPORTER": "none"}, monkeypatch)
    assert [each.check for each in found] == ["OpenTelemetry: traces"]


@pytest.mark.parametrize(
    ("status", "seen"),
    [
        (401, "Unauthorized"),
        (404, "Not Found"),
        (None, "no connection to the collector: Connection refused"),
        (500, "Internal Server Error"),
    ],
)
def test_a_collector_that_does_not_accept_fails_with_the_reason(
    status: int | None, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with collecting(status or 200) as collector:
        there = collector if status else refusing()
        environment = there.environment | {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=zqsecret"}
        (found,) = findings(environment | {"OTEL_METRICS_EXPORTER": "none"}, monkeypatch)
    assert found.health is Health.FAILED
    assert seen in found.seen
    assert "OTEL_EXPORTER_OTLP_" in found.advice
    assert "zqsecret" not in repr(found)


def test_what_cannot_work_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    (found,) = findings(endpoint | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, monkeypatch)
    assert (found.health, "`grpc`" in found.seen) == (Health.FAILED, True)
    monkeypatch.setitem(sys.modules, "ranger_cdap.telemetry.probe", None)
    (found,) = findings(endpoint | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, monkeypatch)
    assert (found.health, "not installed" in found.seen) == (Health.FAILED, True)
    assert "pip install 'ranger-cdap[telemetry]'" in found.advice
