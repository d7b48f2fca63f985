"""Another user of the machine gets nothing from a run: no answer of any port, no file, no secret of a process.

The control: the same attacks succeed on a run without our protection, all but the one that py4j itself stops.
"""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from spark_sync.ledger.ledger_tables import TABLES
from spark_sync.spark.scratch import LOCATION, PREFIX, scratch
from tests.short_lived_java import QUICK_JAVA
from tests.spark_sync.killing import kill_and_wait
from tests.spark_sync.spark.attacker import ATTACKS, MARK, Target, call_java

ROOT = Path(__file__).parents[3]
LISTENING = "0A"

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
    pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="needs /proc to find the ports of a process"),
]


@dataclass(frozen=True)
class Run:
    """A run that goes on, and what `victim` says of it."""

    process: subprocess.Popen[str]
    directory: Path
    said: dict[str, Any]

    def pids(self) -> list[int]:
        """The Python process, the driver, and its worker processes."""
        parents = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                parents[int(stat.parent.name)] = int(stat.read_text(encoding="utf-8").rpartition(")")[2].split()[1])
            except OSError:
                continue
        found = [self.process.pid]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found

    def listening(self) -> set[tuple[str, int]]:
        """The address and port of each socket that one of the processes listens on."""
        sockets = {link for pid in self.pids() for link in open_files(pid)}
        rows = [
            line.split()
            for table in ("tcp", "tcp6")
            for line in Path("/proc/net", table).read_text(encoding="utf-8").splitlines()[1:]
        ]
        return {address(row[1]) for row in rows if row[3] == LISTENING and f"socket:[{row[9]}]" in sockets}

    def attacked(self) -> dict[str, list[str]]:
        """What another user gets."""
        ports = sorted(port for _, port in self.listening())
        told = {name: self.said[name] for name in ("block", "jar", "file", "stop")}
        target = Target(ports=ports, pids=self.pids(), places=[str(self.directory)], **told)
        done = subprocess.run(
            [sys.executable, "-m", "tests.spark_sync.spark.attacker"],
            input=json.dumps(asdict(target)),
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        assert done.returncode == 0, done.stderr
        loot: dict[str, list[str]] = json.loads(done.stdout)
        return loot

    def still_works(self) -> bool:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline() == "7\n"

    def kill(self) -> None:
        kill_and_wait(self.said["driver"])
        self.process.kill()
        self.process.wait()


def open_files(pid: int) -> list[str]:
    """What the process has open; nothing if it has ended meanwhile."""
    with suppress(FileNotFoundError):
        return [str(descriptor.readlink()) for descriptor in Path(f"/proc/{pid}/fd").iterdir()]
    return []


def address(text: str) -> tuple[str, int]:
    """An address of /proc/net: hexadecimal words of the machine's byte order."""
    host, _, port = text.partition(":")
    words = [bytes.fromhex(host[n : n + 8])[:: -1 if sys.byteorder == "little" else 1] for n in range(0, len(host), 8)]
    found = ipaddress.ip_address(b"".join(words))
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found), int(port, 16)


@contextmanager
def running(directory: Path, *options: str) -> Iterator[Run]:
    directory.chmod(0o1777)
    # As an operator may have made it: the directory keeps nobody out, only what is in it does.
    (directory / "state").mkdir(mode=0o755)
    environment = {name: value for name, value in os.environ.items() if name != LOCATION}
    command = [sys.executable, "-m", "tests.spark_sync.spark.victim", str(directory), *options]
    with subprocess.Popen(
        command,
        env=environment | QUICK_JAVA | {"TMPDIR": str(directory)},
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        run = Run(process, directory, json.loads(process.stdout.readline() or "null"))
        try:
            yield run
        finally:
            run.kill()


@pytest.fixture
def directory() -> Iterator[Path]:
    """A place that others can enter, unlike that of pytest."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def test_another_user_gets_nothing_from_a_run_nor_from_what_it_leaves_when_killed(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(directory) as run:
        assert {host for host, _ in run.listening()} == {"127.0.0.1"}
        loot = run.attacked()
        assert (loot["attacks"], loot["files"]) == ([], [])
        assert loot["refused"] == [attack.__name__ for attack in ATTACKS]
        assert len(run.said["secret"]) >= 32
        assert loot["processes"]
        assert not any(run.said["secret"] in shown for shown in loot["processes"])
        assert run.still_works()

        run.kill()
        (left,) = directory.glob(f"{PREFIX}*")
        blocks = [path.read_bytes() for path in left.rglob("blockmgr-*/*/*")]
        assert blocks
        assert not any(MARK.encode() in block for block in blocks)
        assert run.attacked()["files"] == []

    monkeypatch.setenv(LOCATION, str(directory))
    # What the driver had started ends a moment after it, and holds its files until then.
    end = time.monotonic() + 30
    while left.exists() and time.monotonic() < end:
        with scratch() as made:
            assert made.directory.exists()
        time.sleep(0.1)
    assert list(directory.glob(f"{PREFIX}*")) == []


def test_the_same_attacks_succeed_on_an_unprotected_run(directory: Path) -> None:
    with running(directory, "open") as run:
        loot = run.attacked()
        assert set(loot["attacks"]) == {attack.__name__ for attack in ATTACKS} - {call_java.__name__}
        read = [Path(path) for path in loot["files"]]
        assert any("blockmgr" in str(path) and MARK.encode() in path.read_bytes() for path in read)
        assert any(path.is_relative_to(directory / "state" / "answers") for path in read)
        for table in TABLES:
            assert any(path.is_relative_to(directory / "state" / "ledger" / table) for path in read)
