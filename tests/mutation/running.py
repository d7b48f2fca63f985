"""One mutant, one process: forked with the libraries loaded, it imports the faulty module in place of the real one."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from multiprocessing.connection import wait
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

import pytest

from tests.mutation.operators import Mutant, mutated
from tests.mutation.targets import ROOT, Target

LIBRARIES: Final = (
    "hypothesis.strategies", "hypothesis.stateful", "msgspec", "requests", "responses", "click", "rich.console",
    "jinja2", "pluggy", "stamina", "filelock", "apache_ranger.client.ranger_client", "http.server", "sqlite3",
    "unittest.mock",
)  # fmt: skip
"""Loaded once for all mutants; none of ours."""

MEMORY: Final = 4 << 30
"""Bytes that a process may have: a loop that a fault makes endless must not take the machine's."""

FORK: Final = multiprocessing.get_context("fork")


class Outcome(StrEnum):
    """What became of a mutant; a test that ends by a limit has noticed it as well."""

    KILLED = "killed"
    SURVIVED = "survived"
    TIMED_OUT = "timed out"


@dataclass(frozen=True, slots=True)
class Faulty(MetaPathFinder):
    """Finder of one module, whose code is the mutant's."""

    module: str
    code: CodeType

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module where it is, with another loader."""
        if fullname != self.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin, self.code)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, code: CodeType) -> None:
        super().__init__(fullname, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code


class Running:
    """The tests of a target in a process of their own, with a mutant or without; it can be waited for or ended."""

    def __init__(
        self, target: Target, mutant: Mutant | None, limit: float, marks: str, log: Path | None = None
    ) -> None:
        self.target, self.mutant, self._limit = target, mutant, limit
        self._begun = time.monotonic()
        # Here, so that what is no fault of the tests does not look like one that they noticed.
        faulty = None if mutant is None else _faulty(mutant, target.sources[mutant.module])
        self._process: Any = FORK.Process(target=_test, args=(target.tests, faulty, limit, marks, log), daemon=True)
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
        if not over:
            self.end()
        self._process.join()
        code = self._process.exitcode
        if not over or code < 0:
            return Outcome.TIMED_OUT
        return Outcome.KILLED if code else Outcome.SURVIVED

    def end(self) -> None:
        """End the process, and those it started."""
        if self._process.is_alive():
            # Before its first line it has no group of its own.
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                self._process.kill()
        self._process.join()


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


def _faulty(mutant: Mutant, path: Path) -> Faulty:
    return Faulty(mutant.module, mutated(mutant, path.read_text(encoding="utf-8"), str(path)))


def _test(tests: Sequence[str], faulty: Faulty | None, limit: float, marks: str, log: Path | None) -> None:
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who starts us
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    output = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    if faulty is not None:
        sys.meta_path.insert(0, faulty)
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory(prefix="mutant-") as directory:
        status = run_tests(tests, marks, directory)
    os._exit(status)


def run_tests(tests: Sequence[str], marks: str, directory: str) -> int:
    """Run tests until one fails, each time the same examples; return pytest's exit status."""
    from hypothesis import Phase, settings

    settings.register_profile(
        "mutation", deadline=None, derandomize=True, database=None, phases=(Phase.explicit, Phase.generate)
    )
    options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutation", f"--basetemp={directory}/t"]
    # Pytest would rewrite the assertions of libraries that are loaded already.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-m", marks]
    return int(pytest.main([*options, *tests]))
