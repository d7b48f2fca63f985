"""Clusters of Spark on loopback, closed to others: two workers of PySpark's own, and YARN in the JVM of HDFS."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyspark
import pytest

from spark_sync.spark.spark_security import CLOSED, fresh_secret
from tests.cluster.servers import PATIENCE, Hdfs
from tests.differential.java_engine import java_command
from tests.short_lived_java import QUICK_JAVA

ROOT: Final = Path(__file__).parents[2]
SPARK: Final = Path(pyspark.__file__).parent
PROGRAM: Final = Path(__file__).with_name("submitted.py")
LOOPBACK: Final = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"}
LEASE: Final = {"DURATION": 20.0, "LEFT": 3.0, "SKEW": 0.5, "_RENEWED": 2.0}
"""Times that a slow machine keeps, and a test can wait for."""
SHIPPED: Final = {".toml", ".password", ".json", ".jsonl"}
A_RUN: Final = 280.0
"""Seconds, at most."""


@dataclass(frozen=True)
class Done:
    """How a submitted program ended, and what its driver wrote."""

    code: int
    said: str

    @property
    def application(self) -> str:
        """Its name on YARN."""
        found = re.search(r"application_[0-9]+_[0-9]+", self.said)
        return found[0] if found else ""

    @property
    def is_killed(self) -> bool:
        """Whether its driver was killed."""
        return self.code == -signal.SIGKILL or "exited with a non-zero exit code 137" in self.said


@dataclass(frozen=True)
class SparkCluster:
    """A cluster of Spark. `root`: its shared file system; `process`: below it are the executors."""

    root: str
    master: str
    process: int
    settings: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    logs: Path | None = None

    def start(
        self, directory: Path, program: Sequence[str | Path], settings: Mapping[str, str] = {}
    ) -> subprocess.Popen[str]:
        """Submit a program and its arguments, in cluster mode with the files of `directory`."""
        files = ",".join(str(path) for path in sorted(directory.iterdir()) if path.suffix in SHIPPED)
        shipped = ("--files", files) if "cluster" in self.options else ()
        properties = directory / "spark.properties"
        properties.write_text("".join(f"{name} {value}\n" for name, value in (self.settings | settings).items()))
        properties.chmod(0o600)
        options = ("--master", self.master, *self.options, "--properties-file", properties, *shipped)
        return subprocess.Popen(
            [SPARK / "bin" / "spark-submit", *options, *program],
            cwd=directory, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=os.environ | QUICK_JAVA | LOOPBACK | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
            | self.environment,
        )  # fmt: skip

    def end(self, process: subprocess.Popen[str]) -> Done:
        """Wait for a submitted program."""
        try:
            said, _ = process.communicate(timeout=A_RUN)
        finally:
            process.kill()
        done = Done(process.returncode, said)
        if self.logs and done.application:
            found = sorted(self.logs.rglob(f"{done.application}/container_*_000001/std*"))
            done = Done(done.code, said + "".join(path.read_text(errors="replace") for path in found))
        return done

    def stop(self, submitted: subprocess.Popen[str]) -> Done:
        """End a program that follows: its driver is killed, wherever it is, as soon as there is one."""
        end = time.monotonic() + A_RUN
        drivers = dict[int, str]()
        while not any("python" in name for name in drivers.values()):
            assert time.monotonic() < end
            time.sleep(0.1)
            drivers = self._drivers(submitted)
        for pid in drivers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        done = self.end(submitted)
        assert done.code != 0
        return done

    def _drivers(self, submitted: subprocess.Popen[str]) -> dict[int, str]:
        """The processes that run the program, with the names of their programs: Python, and on YARN its JVM."""
        of = parents()
        ours = {pid: command_of(pid) for pid in of if {submitted.pid, self.process} & set(ancestors(pid, of))}
        return {pid: command.partition(" ")[0] for pid, command in ours.items() if PROGRAM.name in command}

    def executors(self) -> Iterator[int]:
        """The executors that have begun a task of Python."""
        of = parents()
        for pid, parent in of.items():
            is_ours = "pyspark.daemon" in command_of(pid) and "CoarseGrainedExecutorBackend" in command_of(parent)
            if is_ours and self.process in ancestors(parent, of):
                yield parent

    def kill_executors(self, submitted: subprocess.Popen[str], most: int) -> int:
        """Kill each executor that works, up to so many; return how many."""
        killed = set[int]()
        while submitted.poll() is None and len(killed) < most:
            for pid in {*self.executors()} - killed:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
            time.sleep(0.05)
        return len(killed)


def parents() -> dict[int, int]:
    """The parent of each process."""
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found[int(directory.name)] = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def ancestors(pid: int, of: Mapping[int, int]) -> Iterator[int]:
    while pid := of.get(pid, 0):
        yield pid


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""


@contextmanager
def standalone(directory: Path, root: str, variables: Mapping[str, str]) -> Iterator[SparkCluster]:
    """A master and two workers with a core each; `variables` are those of the file system's clients."""
    if java_command() is None:
        pytest.skip("needs Java")
    settings = CLOSED | fresh_secret() | {f"spark.executorEnv.{name}": value for name, value in variables.items()}
    settings |= {"spark.executor.memory": "600m", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
    (properties := directory / "daemon.properties").write_text(
        "".join(f"{name} {value}\n" for name, value in settings.items() if "executorEnv" not in name)
    )
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    master, log = f"spark://127.0.0.1:{port}", directory / "log"
    common = ("--host", "127.0.0.1", "--webui-port", "0", "--properties-file", str(properties))
    daemons = [("master.Master", *common, "--port", str(port))]
    daemons += 2 * [("worker.Worker", *common, "--cores", "1", "--memory", "1g", "--work-dir", str(directory), master)]
    with ExitStack() as stack:
        file = stack.enter_context(log.open("wb"))
        for name, *arguments in daemons:
            command = [SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *arguments]
            daemon = stack.enter_context(
                subprocess.Popen(
                    command,
                    env=os.environ | QUICK_JAVA | LOOPBACK | {"SPARK_DAEMON_MEMORY": "200m"},
                    stdout=file,
                    stderr=file,
                )
            )
            stack.callback(daemon.kill)
        end = time.monotonic() + PATIENCE
        while log.read_text(errors="replace").count("Registering worker") < 2:
            assert time.monotonic() < end, log.read_text()[-2000:]
            time.sleep(0.1)
        yield SparkCluster(root, master, os.getpid(), settings)


def yarn(hdfs: Hdfs) -> SparkCluster:
    """YARN beside HDFS; the driver is in a container too."""
    # What the submitting shell has in its environment reaches no container.
    variables = LOOPBACK | QUICK_JAVA | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    settings = CLOSED | {
        "spark.executor.instances": "2",
        "spark.executor.memory": "600m",
        "spark.ui.enabled": "false",
        "spark.yarn.jars": f"local:{SPARK / 'jars'}/*",
        "spark.yarn.maxAppAttempts": "1",
        "spark.yarn.am.waitTime": "250s",  # until the driver has a session; a busy machine takes its time
        "spark.pyspark.python": sys.executable,
    }
    for each in ("yarn.appMasterEnv", "executorEnv"):
        settings |= {f"spark.{each}.{name}": value for name, value in variables.items()}
    return SparkCluster(
        hdfs.root, "yarn", hdfs.process, settings, {"HADOOP_CONF_DIR": str(hdfs.configuration)},
        ("--deploy-mode", "cluster"), hdfs.logs,
    )  # fmt: skip
