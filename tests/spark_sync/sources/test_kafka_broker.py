"""The source `audit-kafka` against a real broker, by the command an operator types: our recording, sent to a topic."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.recording import RECORDING
from tests.short_lived_java import QUICK_JAVA
from tests.spark_sync.conftest import PASSWORD, Ranger
from tests.spark_sync.sources.kafka_broker import CONNECTOR, Broker, fetch, kafka_broker

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FIRST, SECOND = ("1-until-the-deletions.jsonl", "2-from-the-deletions.jsonl")

Run = Callable[[], "subprocess.CompletedProcess[str]"]


def lines_of(name: str) -> list[str]:
    return (RECORDING / "events" / "audit" / name).read_text(encoding="utf-8").splitlines()


def creators(lines: Sequence[str]) -> dict[str, str]:
    """Who created each dataset that is still there, as `dataset namespace`, read from the messages without Spark."""
    found = {}
    for message in map(json.loads, lines):
        names, kind = message["metadataEntity"]["details"], message["metadataEntity"]["type"]
        if kind != "dataset" or message["type"] not in ("CREATE", "DELETE"):
            continue
        key = f"{names['dataset']} {names['namespace']}"
        found.pop(key, None)
        if message["type"] == "CREATE":
            found[key] = message["user"]
    return found


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    fetch()
    with kafka_broker(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture
def run(ranger: Ranger, broker: Broker, tmp_path: Path) -> Run:
    """`ranger-cdap sync run`, in a process of its own."""
    config = tmp_path / "c.toml"
    config.write_text(
        f"""[ranger]
url = "{ranger.url}"
service = "{ranger.service}"
[cdap]
instance = "cdap"
[sync]
username = "sync"
password = "env:SYNC_PASSWORD"
state_dir = "{tmp_path / "state"}"
jars_dir = "{CONNECTOR}"
[[sync.sources]]
name = "audit"
kind = "audit-kafka"
bootstrap = "{broker.address}"
""",
        encoding="utf-8",
    )
    command = (sys.executable, "-m", "ranger_cdap", "--config", str(config), "sync", "run")

    def ran() -> subprocess.CompletedProcess[str]:
        environment = os.environ | QUICK_JAVA | {"SYNC_PASSWORD": PASSWORD}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    return ran


def test_a_run_resumes_and_stops_where_messages_were_dropped_unread(
    run: Run, broker: Broker, ranger: Ranger, tmp_path: Path
) -> None:
    first, second = lines_of(FIRST), lines_of(SECOND)
    broker.send(first)
    done = run()
    assert done.returncode == 0, done.stderr
    assert f"audit: {len(first)} lines read" in done.stdout + done.stderr
    assert ranger.grants() == creators(first) != {}

    broker.send([*second, *second])
    broker.forget(len(first) + len(second))
    done = run()
    assert done.returncode == 1
    assert "ranger-cdap: Spark failed with STREAM_FAILED: Some data may have been lost" in done.stderr
    assert ranger.grants() == creators(first)

    # What docs/how-to/operate-the-sync.md says to do then.
    (tmp_path / "state" / "checkpoints" / "audit").rename(tmp_path / "old")
    done = run()
    assert done.returncode == 0, done.stderr
    assert f"audit: {len(second)} lines read" in done.stdout + done.stderr
    assert ranger.grants() == creators([*first, *second]) != creators(first)
