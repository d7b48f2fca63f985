"""A process forked for one thing, with limits of time and memory; several at once."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from itertools import islice
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from tests.mutation.targets import ROOT

LIBRARIES: Final = (
    "hypothesis.strategies", "hypothesis.stateful", "msgspec", "requests", "responses", "click", "rich.console",
    "jinja2", "pluggy", "stamina", "filelock", "apache_ranger.client.ranger_client", "http.server", "sqlite3",
    "unittest.mock",
)  # fmt: skip
"""Loaded once for all mutants; none of ours."""

MEMORY: Final = 4 << 30
"""Bytes that a process may have: a loop that a fault makes endless must not take the machine's."""

INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM)

FORK: Final = multiprocessing.get_context("fork")

T = TypeVar("T")


class Outcome(StrEnum):
    """What became of a mutant; a test that ends by a limit has noticed it as well."""

    KILLED = "killed"
    SURVIVED = "survived"
    TIMED_OUT = "timed out"


class Running(Generic[T]):
    """A call in a process of its own, for `what`; it can be waited for or ended.

    The call returns the exit status; `limit` is in processor seconds; `log` has its output.
    """

    def __init__(self, what: T, call: Callable[[], int], limit: float, log: Path | None = None) -> None:
        self.what, self._limit = what, limit
        self._begun = time.monotonic()
        self._directory = tempfile.mkdtemp(prefix="mutant-")
        self._process: Any = FORK.Process(target=_confined, args=(call, limit, log, self._directory))
        self._process.start()

    @property
    def sentinel(self) -> int:
        """Return what `multiprocessing.connection.wait` waits for."""
        return int(self._process.sentinel)

    @property
    def seconds(self) -> float:
        """Return how long it runs."""
        return time.monotonic() - self._begun

    @property
    def is_late(self) -> bool:
        """Return whether it waits for what does not come; endless loops end by their limit of processor time."""
        return self.seconds > 5 * self._limit

    @property
    def is_over(self) -> bool:
        """Return whether it has ended."""
        return bool(wait([self.sentinel], timeout=0))

    def outcome(self) -> Outcome:
        """Return what became of it; end it if it is not over."""
        over = self.is_over
        self.end()
        code = self._process.exitcode
        if not over or code < 0:
            return Outcome.TIMED_OUT
        return Outcome.KILLED if code else Outcome.SURVIVED

    def end(self) -> None:
        """End the process, and those it started; remove its files."""
        # Before its first line it has no group of its own; after its last the group may have others.
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            self._process.kill()
        self._process.join()
        shutil.rmtree(self._directory, ignore_errors=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold signals back: a process that nobody knows of yet could not be ended."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def at_once(
    starts: Iterable[Callable[[], Running[T]]], most: int, until: float
) -> Generator[tuple[Running[T], Outcome], None, None]:
    """Yield what becomes of each; those under way at the end of the time, or by Ctrl-C, are ended."""
    left = iter(starts)
    under_way: list[Running[T]] = []
    try:
        while time.monotonic() < until:
            for start in islice(left, most - len(under_way)):
                with _uninterrupted():
                    under_way.append(start())
            if not under_way:
                return
            wait([one.sentinel for one in under_way], timeout=0.5)
            for one in [one for one in under_way if one.is_over or one.is_late]:
                outcome = one.outcome()
                under_way.remove(one)
                yield one, outcome
    finally:
        for one in under_way:
            one.end()


def load_libraries() -> None:
    """Load what is not ours, for all processes to come.

    Raises:
        RuntimeError: something of ours is loaded, so that no fault would be seen.
    """
    for name in LIBRARIES:
        importlib.import_module(name)
    ours = [name for name in sys.modules if name.partition(".")[0] in ("ranger_cdap", "spark_sync", "servicedef")]
    if ours:
        raise RuntimeError(f"modules of ours are loaded before their mutants: {', '.join(ours)}")


def _confined(call: Callable[[], int], limit: float, log: Path | None, directory: str) -> None:
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who starts us
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        output = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for descriptor in {1, 2, sys.stdout.fileno(), sys.stderr.fileno()}:
            os.dup2(output, descriptor)
        # Pytest's directories, and those that tests make.
        os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.tempdir = directory
        os.chdir(ROOT)
        status = call()
    finally:
        os._exit(status)
