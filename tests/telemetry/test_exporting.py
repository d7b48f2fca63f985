"""Traces on their way: to a real collector, to one that hangs, and without any wish for them."""

from __future__ import annotations

import base64
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ranger_cdap.telemetry.sdk import Telemetry
from ranger_cdap.telemetry.start import start_telemetry
from tests.service.fixtures import READ_AND_WRITE, World, serving
from tests.service.http.raw_http import until
from tests.telemetry.collector import SLOW, Collector, collecting, hanging, refusing
from tests.telemetry.test_request_spans import ENFORCE, check, requests_of

MANY = 300
CLOSE_SECONDS = 5.0


@contextmanager
def exporting(collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **more: str) -> Iterator[World]:
    """A service that exports to the collector; at the end it is closed as a program closes it."""
    for name, value in (collector.environment | more).items():
        monkeypatch.setenv(name, value)
    telemetry = start_telemetry("ranger-cdap")
    assert isinstance(telemetry, Telemetry)
    with serving(READ_AND_WRITE, tmp_path, telemetry=telemetry) as world:
        yield world
        began = time.monotonic()
        telemetry.close()
        assert time.monotonic() - began < CLOSE_SECONDS + SLOW


def test_a_collector_receives_each_request_with_the_headers_it_wants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = base64.b64encode(b"tenant:zqtoken").decode()
    with (
        collecting() as collector,
        exporting(
            collector,
            tmp_path,
            monkeypatch,
            OTEL_EXPORTER_OTLP_HEADERS=f"Authorization=Basic {token}",
            OTEL_SERVICE_NAME="of-this-test",
        ) as world,
    ):
        for _ in range(3):
            world.ask("enforce", "POST", ENFORCE, check())
        spans = collector.named(f"POST {ENFORCE}", 3)
    assert {(span.service, span.is_server, span.failed, span.parent_id) for span in spans} == {
        ("of-this-test", True, False, "")
    }
    assert collector.headers["authorization"] == f"Basic {token}"


def test_what_is_queued_at_the_end_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        with exporting(collector, tmp_path, monkeypatch, OTEL_BSP_SCHEDULE_DELAY="3600000") as world:
            world.ask("enforce", "POST", ENFORCE, check())
            until(lambda: requests_of(world) == 1)  # counted after the span is queued
            assert not collector.spans
        assert [span.name for span in collector.spans] == [f"POST {ENFORCE}"]


@pytest.mark.parametrize("state", ["hangs", "is down", "answers 503"])
def test_a_request_waits_for_no_collector(state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = {"OTEL_BSP_MAX_QUEUE_SIZE": "64", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "8"}
    with hanging() as silent, collecting(503) as failing:
        collector = {"hangs": silent, "is down": refusing(), "answers 503": failing}[state]
        with exporting(collector, tmp_path, monkeypatch, **queue) as world:
            slowest = 0.0
            for _ in range(MANY):
                began = time.monotonic()
                assert world.ask("enforce", "POST", ENFORCE, check()).json["allowed"]
                slowest = max(slowest, time.monotonic() - began)
            assert slowest < SLOW


BAD = [
    ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "`OTEL_EXPORTER_OTLP_PROTOCOL` is `grpc`"),
    ({"OTEL_BSP_MAX_QUEUE_SIZE": "1"}, "(ValueError: max_export_batch_size must be"),
    ({"OTEL_EXPORTER_OTLP_HEADERS": "zqsecret"}, "`OTEL_EXPORTER_OTLP_HEADERS`"),
]


@pytest.mark.parametrize(("wrong", "sentence"), BAD)
def test_a_wrong_variable_is_one_warning_and_stops_nothing(
    wrong: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", **wrong}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert start_telemetry("ranger-cdap") is None
    # A collector of a test before may still be missed, by their library and by us.
    ours = [entry for entry in caplog.records if not entry.name.startswith("opentelemetry.")]
    said = [entry.getMessage() for entry in ours if entry.levelno >= logging.WARNING]
    (line,) = [each for each in said if not each.startswith("OpenTelemetry: ")]
    assert line.startswith("OpenTelemetry is asked for, and nothing is sent: ")
    assert sentence in line
    assert "zqsecret" not in line


PROGRAM = """
import sys
{hidden}
from ranger_cdap.telemetry.start import start_telemetry
import ranger_cdap.service.composition, ranger_cdap.client, spark_sync.cli.run, spark_sync.job
found = start_telemetry("x")
print(found is None, any(name.partition(".")[0] == "opentelemetry" for name in sys.modules))
"""
WITHOUT_THE_EXTRA = "sys.modules['opentelemetry'] = None"


def run(hidden: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(hidden=hidden)],
        env={**inherited, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
        capture_output=True,
        text=True,
        check=True,
    )


def test_nothing_is_loaded_unless_it_is_asked_for() -> None:
    assert run().stdout.split() == ["True", "False"]
    assert run(OTEL_SERVICE_NAME="x", OTEL_SDK_DISABLED="true").stdout.split() == ["True", "False"]
    assert run(OTEL_TRACES_EXPORTER="otlp").stdout.split() == ["False", "True"]


def test_without_the_extra_a_sentence_says_what_to_install() -> None:
    ended = run(WITHOUT_THE_EXTRA, OTEL_TRACES_EXPORTER="otlp")
    assert ended.stdout.split()[0] == "True"
    assert "install it with: pip install 'ranger-cdap[telemetry]'" in ended.stderr
