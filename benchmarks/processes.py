"""Processes of a benchmark: started, awaited and stopped; their CPU seconds, and the programs they start."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.memory import resident

START_SECONDS = 180.0
STOP_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Running:
    """Running program, whose output goes to `log`."""

    pid: int
    log: Path

    def printed(self, pattern: str) -> str:
        """Return the first group of the pattern, once it is in the output."""
        wait_until(lambda: self._found(pattern) is not None, f"`{pattern}` in {self.log.name}")
        found = self._found(pattern)
        assert found is not None
        return found[1]

    def _found(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self.log.read_text(encoding="utf-8", errors="replace"))


@contextmanager
def running(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> Iterator[Running]:
    """Run a program until the end of the block, and stop it with SIGTERM."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
    try:
        yield Running(process.pid, log)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS)


def wait_until(holds: Callable[[], bool], what: str, *, seconds: float = START_SECONDS, every: float = 0.05) -> None:
    """Wait for a condition, which is looked at `every` so many seconds.

    Raises:
        TimeoutError: it does not hold in time.
    """
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(every)


def cpu_seconds(root: int) -> float:
    """Return the CPU seconds of a process and of everything it has started."""
    return sum(found.ticks for found in _family(root)) / os.sysconf("SC_CLK_TCK")


def resident_of_family(root: int) -> float:
    """Return the resident memory, in megabytes, of a process and of everything it has started."""
    held = 0.0
    for found in _family(root):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            held += resident(found.pid)
    return held


def programs(root: int) -> set[str]:
    """Return the names of the programs that a process and everything it has started are running."""
    return {found.program for found in _family(root)}


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    parent: int
    program: str
    ticks: int


def _family(root: int) -> list[_Process]:
    """Return a process and its descendants; an ended one counts in its parent."""
    everyone = {found.pid: found for found in _processes()}
    return [found for found in everyone.values() if root in _line(found, everyone)]


def _line(process: _Process, everyone: Mapping[int, _Process]) -> set[int]:
    line = {process.pid}
    while (above := everyone.get(process.parent)) is not None and above.pid not in line:
        line.add(above.pid)
        process = above
    return line


def _processes() -> Iterator[_Process]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = path.read_text(encoding="utf-8", errors="replace").rpartition(")")
        except OSError:  # it has ended
            continue
        fields = rest.split()
        yield _Process(int(path.parent.name), int(fields[1]), head.partition("(")[2], sum(map(int, fields[11:15])))
