"""The circle: created in CDAP, told by the extension, granted in Ranger, in force in CDAP; and back by the deletion."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ranger_cdap.testing import EmbeddedRanger
from spark_sync.job import run_once
from spark_sync.reconcile.baseline import take_baseline
from spark_sync.report import RunReport
from tests.cdap_master.builder import KEY_VALUE
from tests.cdap_master.fixtures import World, wait_until, world
from tests.spark_sync.conftest import without_spark

CREATOR, COLLEAGUE, SUCCESSOR = "dora", "erin", "frank"
NAMESPACE = "/v3/namespaces/orders"
DATASET = f"{NAMESPACE}/data/datasets/open"
TRUNCATE = f"POST {DATASET}/admin/truncate"


class Clock:
    """Tells how long each part took, also where pytest keeps the output."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    @contextmanager
    def times(self, what: str) -> Iterator[None]:
        begun = time.monotonic()
        yield
        self._say(f"  {time.monotonic() - begun:6.2f} s  {what}")


@pytest.fixture
def clock(capsys: pytest.CaptureFixture[str]) -> Clock:
    def say(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{line}")

    return Clock(say)


@pytest.fixture
def own_world(ranger: EmbeddedRanger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A CDAP where nothing was created before: what other tests made seconds ago would rightly be granted here, too."""
    with world(ranger, tmp_path_factory.mktemp("circle"), "ranger-cdap-extension-6.11.jar") as made:
        yield made


@pytest.mark.smoke
def test_from_the_creation_to_the_grant_and_from_the_deletion_to_its_end(
    own_world: World, tmp_path: Path, clock: Clock
) -> None:
    world = own_world
    # The colleague sees the namespace. A policy on the namespace itself would be somebody else's, and block the grant.
    world.people({CREATOR: ["WRITE instance:"], COLLEAGUE: ["READ application:orders.Purchases"]})
    creator, colleague = world.user(CREATOR), world.user(COLLEAGUE)
    with clock.times("baseline: what CDAP has is known and grants nothing"):
        take_baseline(world.settings, inventory(tmp_path), now=time.time_ns() // 1_000_000)

    with clock.times(f"CDAP: {CREATOR} creates the namespace"):
        creator.must(f"PUT {NAMESPACE}", {})
    assert creator.ask(f"PUT {DATASET}", KEY_VALUE).status_code == 403
    granted = told_and_granted(world, clock, "PUT", NAMESPACE)
    assert [(str(life.entity), life.creator) for life in granted.granted] == [("namespace:orders", CREATOR)]

    with clock.times(f"CDAP: {CREATOR} creates a dataset in it"):
        creator.must(f"PUT {DATASET}", KEY_VALUE)
    assert creator.ask(TRUNCATE).status_code == 403
    granted = told_and_granted(world, clock, "PUT", DATASET)
    assert [(str(life.entity), life.creator) for life in granted.granted] == [("dataset:orders.open", CREATOR)]

    with clock.times(f"CDAP: {CREATOR} may truncate it, {COLLEAGUE} may not"):
        assert creator.ask(TRUNCATE).status_code == 200
        assert colleague.ask(TRUNCATE).status_code == 403

    with clock.times(f"CDAP: {CREATOR} deletes it"):
        creator.must(f"DELETE {DATASET}")
    ended = told_and_granted(world, clock, "DELETE", DATASET)
    assert [str(life.entity) for life in ended.revoked] == ["dataset:orders.open"]
    with clock.times(f"CDAP: somebody else creates one of that name, and {CREATOR} may do nothing with it"):
        world.people({SUCCESSOR: ["ADMIN dataset:orders.open"]})
        world.user(SUCCESSOR).must(f"PUT {DATASET}", KEY_VALUE)
        assert creator.ask(TRUNCATE).status_code == 403


def told_and_granted(world: World, clock: Clock, method: str, uri: str) -> RunReport:
    """From CDAP's answer until what it means is in force."""
    with clock.times("extension: the record is stored"):
        wait_until(lambda: (method, uri, 200) in stored(world), f"{method} {uri} is told")
    reports: list[RunReport] = []

    def has_effect() -> bool:
        """On a busy machine the watermark may pass the record only after the first run."""
        reports.append(run_once(world.settings, without_spark, now=time.time_ns() // 1_000_000))
        return bool(reports[-1].granted or reports[-1].revoked)

    with clock.times("sync: the record becomes a grant in Ranger, or its end"):
        wait_until(has_effect, f"{method} {uri} has an effect")
    report = reports[-1]
    assert report.trouble == ""
    with clock.times("service: the policies are downloaded"):
        world.refresh()
    return report


def stored(world: World) -> set[tuple[str, str, int]]:
    """What the decision service has stored of the extension's records."""
    files = world.settings.service.events_dir.glob("*.jsonl")
    lines = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    records = [line["record"] for line in lines if "record" in line]  # the others are journalled checks
    return {(record["method"], record["uri"], record["code"]) for record in records}


def inventory(directory: Path) -> Path:
    file = directory / "inventory.jsonl"
    header = {"v": 1, "instance": "cdap", "taken": datetime.now(UTC).isoformat(timespec="milliseconds")}
    lines = [header, {"type": "namespace", "parts": ["default"]}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return file
