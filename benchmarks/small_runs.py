"""Duration of small runs of the sync job, and of its commands, on a ledger that knows 1,000,000 entities.

`python -m benchmarks.small_runs` (in `make bench`) prints seconds against their targets, and whether a JVM was started.
Events are ten creations that the decision service has stored. A cold run is the process `sync run`, from its start
until the last policy is in Ranger and until it has ended; a warm one is a run of `sync run --follow`, by its own
metrics. Commands are measured from start to end.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.creation_times import grant_times, uri_of
from benchmarks.deployment import INSTANCE, METRICS, Deployment, cdap_entity, deployment, enter_baseline, environment
from benchmarks.processes import cpu_seconds, programs, wait_until
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.wire.watermark import WATERMARK

CREATOR, NAMESPACE = "alice", "bench"
ENTITIES, NAMESPACES, FEW = 1_000_000, 1_000, 10
RUNS = 2

COLD, WARM, COMMAND = 10.0, 1.0, 1.0
"""Targets in seconds."""
COMMANDS = (
    ("status",),
    ("lives", "dataset:ns1.d1"),
    ("reconcile",),
    ("retry",),
    ("assign", "dataset:ns1.d1", CREATOR),
    ("forget", "dataset:ns1.d1"),
)
JVM = "java"


def main() -> None:
    """Print a line per measurement."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--entities", type=int, default=ENTITIES, help="that the baseline knows")
    measure(options.parse_args().entities)


def measure(entities: int) -> None:
    """Measure runs and commands with so many entities known."""
    with (
        tempfile.TemporaryDirectory() as directory,
        deployment(Path(directory), {CREATOR: [f"WRITE namespace:{NAMESPACE}"]}, following=False) as deployed,
    ):
        began = time.time()
        enter_baseline(deployed, (EntityId("dataset", (f"ns{n % NAMESPACES}", f"d{n}")) for n in range(entities)))
        print(f"{entities:,} entities known; the baseline took {time.time() - began:.0f} s", flush=True)
        for _ in range(RUNS):
            cold_run(deployed)
        warm_runs(deployed)
        for arguments in COMMANDS:
            done = timed(deployed, "sync", *arguments)
            note(" ".join(("sync", *arguments)), done.seconds, COMMAND, done.note)


def note(what: str, seconds: float, target: float | None = None, more: str = "") -> None:
    """Print a measurement."""
    wanted = f"   target {target:g} s: {'reached' if seconds <= target else 'MISSED'}" if target else ""
    print(f"{what:>40}: {seconds:6.2f} s{wanted}{more}", flush=True)


def cold_run(deployed: Deployment) -> None:
    """Measure a process that finds a few new events."""
    created = create(deployed)
    done = timed(deployed, "sync", "run")
    granted = max(granted_at(deployed, created)) - done.began
    note(f"cold, {FEW} events, start -> granted", granted, COLD, done.note)
    note(f"cold, {FEW} events, start -> end", done.seconds, COLD)


def warm_runs(deployed: Deployment) -> None:
    """Measure runs of one process that find a few new events each."""
    metrics = deployed.home / METRICS
    metrics.unlink()
    with deployed.running("follow", "sync", "run", "--follow") as job:
        wait_until(metrics.exists, "the first run has ended")
        for _ in range(RUNS + 1):
            before = cpu_seconds(job.pid)
            created = create(deployed)
            decidable = time.time()
            wait_until(lambda: _figure(metrics, "granted") == FEW, f"a run with {FEW} grants", every=0.01)
            seconds = _figure(metrics, "run_seconds")
            granted = max(granted_at(deployed, created)) - decidable
            more = f"   {cpu_seconds(job.pid) - before:.2f} s of CPU{jvm_text(JVM in programs(job.pid))}"
            note(f"warm, {FEW} events, the run", seconds, WARM, more)
            note(f"warm, {FEW} events, decidable -> granted", granted)
            wait_until(lambda: _figure(metrics, "granted") == 0, "a run without events")


def create(deployed: Deployment) -> list[EntityId]:
    """Have the decision service store a few creations; return when a run can decide all of them."""
    batch, process = uuid.uuid4().hex[:8], uuid.uuid4().hex
    created = [EntityId("dataset", (NAMESPACE, f"d{batch}_{n}")) for n in range(FEW)]
    with deployed.caller("enforce") as enforce, deployed.caller("audit") as audit:
        records = []
        for entity in created:
            stamp = {"id": uuid.uuid4().hex, "process": process, "at": _now()}
            assert not enforce.denial(CREATOR, entity, "STANDARD.CREATE", check=stamp)
            asked = {"principal": CREATOR, **cdap_entity(entity), "permissions": ["STANDARD.CREATE"], "allowed": True}
            request = {"method": "PUT", "uri": uri_of(entity), "code": 200, "started": stamp["at"], "ended": _now()}
            records.append({"v": 2, "instance": INSTANCE, **request, "checks": [{**asked, **stamp}]})
        assert audit.post("/cdap/v1/audit", {"records": records}) == {"stored": FEW, "refused": []}
    stored = _now()
    wait_until(lambda: _watermark(deployed) > stored, "a later watermark", every=0.01)
    return created


@dataclass(frozen=True, slots=True)
class Timed:
    """Process that has ended: when it began, its seconds and CPU seconds, and whether it started a JVM."""

    began: float
    seconds: float
    cpu: float
    started_jvm: bool

    @property
    def note(self) -> str:
        """Return the end of a line."""
        return f"   {self.cpu:.2f} s of CPU{jvm_text(self.started_jvm)}"


def timed(deployed: Deployment, *arguments: str) -> Timed:
    """Measure a command, which must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    log, jvms, ended = deployed.home / "command.log", set[bool](), threading.Event()
    with log.open("wb") as output:
        began = time.time()
        process = subprocess.Popen(
            deployed.command(*arguments),
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment(deployed.ranger.password),
        )

        def watch() -> None:
            while not ended.wait(0.1):
                jvms.add(JVM in programs(process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        process.wait()
        seconds = time.time() - began
        ended.set()
        watcher.join()
    assert process.returncode == 0, (arguments, log.read_text(encoding="utf-8"))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return Timed(began, seconds, cpu, True in jvms)


def granted_at(deployed: Deployment, created: list[EntityId]) -> list[float]:
    """Return when Ranger created their policies."""
    times = grant_times(deployed.ranger)
    return [times[entity] for entity in created]


def jvm_text(started: bool) -> str:
    """Return the end of a line."""
    return f"   {'a' if started else 'no'} JVM"


def _figure(metrics: Path, name: str) -> float:
    found = re.search(rf"^ranger_cdap_sync_{name} (\S+)$", metrics.read_text(encoding="utf-8"), re.M)
    assert found is not None, name
    return float(found[1])


def _watermark(deployed: Deployment) -> int:
    return int(msgspec.json.decode((deployed.events / WATERMARK).read_bytes())["watermark"])


def _now() -> int:
    return round(time.time() * 1000)


if __name__ == "__main__":
    main()
