"""Runs submitted to clusters of Spark, by many lines on their executors; ledger and events are on a shared file system.

On YARN in cluster mode: the driver, too, is in a container.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pyarrow.parquet as pq
import pytest

from ranger_cdap.config import Settings, StoreUrl
from ranger_cdap.store import entries, open_file
from spark_sync.spark.on_demand import ON_A_CLUSTER
from spark_sync.spark.spark_security import CLOSED
from tests.cli.fixtures import COMPANY, download
from tests.cluster.conftest import put
from tests.cluster.servers import Hdfs
from tests.cluster.spark_clusters import A_RUN, LOOPBACK, PROGRAM, ROOT, Done, SparkCluster
from tests.cluster.test_shared_ledger import deliver, settings_in
from tests.short_lived_java import QUICK_JAVA
from tests.spark_sync.conftest import PASSWORD, Ranger
from tests.spark_sync.killing import ON_SPARK
from tests.spark_sync.review.test_review import ENTITIES, HEADER, line
from tests.spark_sync.test_job import FIRST, OTHERS, SECOND, by_values, ledger_of, run, take_baseline
from tests.spark_sync.test_submitted import write_many

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.slow]

HELD: Final = "a sync run is in progress in"
EXAMPLE: Final = ROOT / "examples" / "submit.py"
POINTS: Final = (
    ON_SPARK,
    "the file is recorded as read",
    "before anything is decided",
    "all is decided, no life is recorded",
    "changed lives are appended, but not that they are decided",
    "it is recorded that they are decided",
    "before anything is sent",
    "between two policies",
    "all is sent, nothing recorded",
    "the ledger's version is noted",
)
"""Where runs are killed, in the order in which a run comes to them."""
SURVIVES: Final = {
    "task.maxFailures": "50", "executor.maxNumFailures": "50", "deploy.maxExecutorRetries": "-1",
    "stage.maxConsecutiveAttempts": "50",
}  # fmt: skip
"""By default, a program ends after few lost executors."""


@dataclass(frozen=True)
class Place:
    """A ledger and many events in the shared file system of a cluster, and their settings as a file."""

    cluster: SparkCluster
    settings: Settings
    directory: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *words: str, step: str | None = None, **settings: str) -> subprocess.Popen[str]:
        program = (EXAMPLE,) if step is None else (PROGRAM, step)
        arguments = (*program, "--config", "c.toml", "--json", *words)
        given = {f"spark.{name}": one for name, one in settings.items()}
        self.started.append(self.cluster.start(self.directory, arguments, given))
        return self.started[-1]

    def run(self, *words: str, step: str | None = None, **settings: str) -> Done:
        return self.cluster.end(self.start(*(words or ("sync", "run")), step=step, **settings))

    def run_when_free(self, step: str) -> Done:
        """Run when the lease of a killed run has expired, in seconds."""
        while HELD in (done := self.run(step=step)).said:
            assert done.code != 0
        return done

    def ends_with(self, ranger: Ranger) -> None:
        """The grants are those of the recordings, and another run has nothing to do."""
        assert by_values(ranger.grants()) == by_values(OTHERS)
        assert run(self.settings).wrote_nothing


@pytest.fixture
def place(cluster: SparkCluster, ranger: Ranger, tmp_path: Path) -> Iterator[Place]:
    store = StoreUrl(cluster.root, uuid4().hex)
    settings = settings_in(ranger, store)
    take_baseline(settings)
    for part in (FIRST, SECOND):
        deliver(store, part)
    directory = tmp_path / "submitted"
    directory.mkdir()
    sources = "".join(
        f'[[sync.sources]]\nname = "{source.name}"\nkind = "{source.kind}"\npath = "{source.path}"\n'
        'callers = ["cdap-master"]\n'
        for source in settings.sync.sources
    )
    (directory / "c.toml").write_text(
        f'[ranger]\nurl = "{ranger.url}"\nservice = "{ranger.service}"\n[cdap]\ninstance = "cdap"\n'
        f'[sync]\nusername = "sync"\npassword = "file:sync.password"\nstate_dir = "{store / "ledger"}"\n{sources}'
    )
    (secret := directory / "sync.password").write_text(PASSWORD)
    secret.chmod(0o600)
    yield (found := Place(cluster, settings, directory))
    for each in found.started:
        with each:
            each.kill()


@pytest.fixture
def many(place: Place, tmp_path: Path) -> Place:
    """With so many events that they are Spark's without being forced."""
    write_many(tmp_path)
    (source,) = (each.path for each in place.settings.sync.sources if each.name == "audit")
    assert isinstance(source, StoreUrl)
    at = StoreUrl(source.root, source.path.rpartition("/")[0])
    put(at / "many.jsonl", (tmp_path / "many.jsonl").read_bytes())
    return place


def report_of(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = json.JSONDecoder().raw_decode(done.said[done.said.index('{\n"run_id"') :])[0]
    return found


def test_the_events_of_the_demo_to_grants_and_nothing_twice(many: Place, ranger: Ranger) -> None:
    done = many.run()
    assert done.code == 0, done.said[-5000:]
    report = report_of(done)
    assert (report["trouble"], len(report["granted"])) == ("", len(OTHERS))
    assert {each["name"]: each["events"] > ON_A_CLUSTER.events for each in report["sources"]}["audit"]
    assert by_values(ranger.grants()) == by_values(OTHERS)
    version, marks = ranger.policy_version(), ledger_of(many.settings).marks()
    done = many.run()
    assert (done.code, report_of(done)["granted"]) == (0, []), done.said[-5000:]
    assert (ranger.policy_version(), ledger_of(many.settings).marks()) == (version, marks)
    assert PASSWORD not in done.said
    many.ends_with(ranger)


def test_executors_that_are_killed_ten_times_cost_nothing(many: Place, ranger: Ranger) -> None:
    submitted = many.start("sync", "run", **SURVIVES)
    killed = many.cluster.kill_executors(submitted, len(POINTS))
    done = many.cluster.end(submitted)
    assert (done.code, killed, "Lost executor" in done.said) == (0, len(POINTS), True), done.said[-5000:]
    many.ends_with(ranger)


def test_a_driver_that_is_killed_at_ten_points_costs_nothing(place: Place, ranger: Ranger) -> None:
    for point in POINTS:
        done = place.run_when_free(point)
        assert done.is_killed, (point, done.said[-3000:])
    done = place.run_when_free("-")
    assert done.code == 0, done.said[-5000:]
    place.ends_with(ranger)


def test_of_two_drivers_at_once_one_runs(place: Place, ranger: Ranger) -> None:
    both = [place.start("sync", "run", step="-") for _ in range(2)]
    ended = [place.cluster.end(each) for each in both]
    granted = [each for each in ended if each.code == 0]
    refused = [each for each in ended if HELD in each.said]
    assert len(granted) + len(refused) == 2, [each.said[-3000:] for each in ended]
    assert granted
    assert sum(len(report_of(each)["granted"]) for each in granted) == len(OTHERS)
    place.ends_with(ranger)


def test_a_run_that_follows_is_ended_and_begins_again(place: Place, ranger: Ranger) -> None:
    for _ in range(2):
        submitted = place.start("sync", "run", "--follow", "1", step="-")
        wait_for(lambda: by_values(ranger.grants()) == by_values(OTHERS), submitted)
        place.cluster.stop(submitted)
    done = place.run_when_free("-")
    assert done.code == 0, done.said[-5000:]
    place.ends_with(ranger)


def test_a_review_writes_its_answers_into_the_store(place: Place) -> None:
    (place.directory / "p.json").write_text(json.dumps(download(COMPANY)))
    (place.directory / "e.jsonl").write_text(HEADER + "".join(map(line, ENTITIES)))
    out = StoreUrl(place.cluster.root, f"review-{uuid4().hex}")
    words = ("access", "--format", "parquet", "--policies", "p.json", "--inventory", "e.jsonl")
    done = place.run(*words, "--out", str(out), step="-")
    assert done.code == 0, done.said[-5000:]
    report = json.JSONDecoder().raw_decode(done.said[done.said.index('{\n  "instance"') :])[0]
    (part,) = (each.name for each in entries(out / "answers"))
    with open_file(out / "answers" / part) as file:
        assert pq.read_table(BytesIO(file.read())).num_rows == report["answers"] > 0
    assert [each.name for each in entries(out / "summary")] == ["part-00000.parquet"]
    assert "already exists" in place.run(*words, "--out", str(out), step="-").said


def wait_for(is_so: Callable[[], bool], submitted: subprocess.Popen[str]) -> None:
    end = time.monotonic() + A_RUN
    while not is_so():
        assert time.monotonic() < end
        assert submitted.poll() is None, submitted.communicate()[0][-6000:]
        time.sleep(0.2)


@pytest.mark.parametrize("cluster", ["yarn"], indirect=True)
def test_a_second_attempt_of_yarn_resumes_what_the_first_left(place: Place, ranger: Ranger) -> None:
    """It waits for the lease of the first, as any run that follows."""
    submitted = place.start("sync", "run", "--follow", "1", step="between two policies", **{"yarn.maxAppAttempts": "2"})
    wait_for(lambda: by_values(ranger.grants()) == by_values(OTHERS), submitted)
    done = place.cluster.stop(submitted)
    assert place.cluster.logs is not None
    assert list(place.cluster.logs.rglob(f"{done.application}/container_*_02_000001"))
    assert place.run_when_free("-").code == 0
    place.ends_with(ranger)


@pytest.mark.parametrize("cluster", ["yarn"], indirect=True)
def test_a_ledger_in_the_directory_of_a_container_is_refused(place: Place, ranger: Ranger) -> None:
    done = place.run("--set", "sync.state_dir=state", "sync", "run")
    assert (done.code, "`sync.state_dir`: a path is not accepted in cluster mode" in done.said) == (1, True)
    assert ranger.grants() == {}


@pytest.mark.parametrize("cluster", ["yarn"], indirect=True)
def test_a_name_node_that_is_restarted_during_a_run_costs_nothing(many: Place, ranger: Ranger, hdfs: Hdfs) -> None:
    submitted = many.start("sync", "run", step="-")
    wait_for(lambda: any(many.cluster.executors()), submitted)
    hdfs.restart_name_node()
    many.cluster.end(submitted)  # by an error, if it was not patient enough
    done = many.run_when_free("-")
    assert done.code == 0, done.said[-5000:]
    many.ends_with(ranger)


@pytest.mark.parametrize("cluster", ["standalone"], indirect=True)
def test_the_command_itself_runs_spark_on_a_cluster(many: Place, ranger: Ranger) -> None:
    defaults = many.directory / "spark-defaults.conf"

    def command(settings: Mapping[str, str]) -> Done:
        defaults.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
        defaults.chmod(0o600)
        words = ("--config", "c.toml", "--json", "sync", "run", "--master", many.cluster.master)
        done = subprocess.run(
            [sys.executable, "-m", "ranger_cdap", *words], cwd=many.directory, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=A_RUN,
            env=os.environ | QUICK_JAVA | LOOPBACK | {"SPARK_CONF_DIR": str(many.directory)},
        )  # fmt: skip
        return Done(done.returncode, done.stdout)

    open_to_others = {name: "false" if name in CLOSED else one for name, one in many.cluster.settings.items()}
    assert "Spark is open to others: `spark.authenticate` is not true" in command(open_to_others).said
    assert ranger.grants() == {}
    done = command(many.cluster.settings)
    assert (done.code, len(report_of(done)["granted"])) == (0, len(OTHERS)), done.said[-5000:]
    many.ends_with(ranger)
