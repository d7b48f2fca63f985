"""Which test calls which functions of a target, and how long it takes: a mutant needs only those tests."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import FrameType

import msgspec
import pytest

from tests.mutation.fault import Fault
from tests.mutation.session import collect, run_tests
from tests.mutation.targets import Target

COLLECTING = ""
"""The name of what is called before the first test."""


class Called(msgspec.Struct, frozen=True):
    """A line of a record: what a test calls, as `module:function`, and its processor seconds."""

    test: str
    seconds: float
    functions: frozenset[str]


class Calls(msgspec.Struct, frozen=True):
    """What the tests of a target call, the fastest test first; `digest` is of all that it depends on."""

    digest: str
    tests: tuple[Called, ...]
    collecting: frozenset[str]

    def tests_of(self, fault: Fault) -> tuple[Called, ...] | None:
        """Return the tests that a fault needs; `None` if it shows only where it is imported, in any of them."""
        if fault.functions is None:
            return None
        names = {f"{fault.module}:{function}" for function in fault.functions}
        if names & self.collecting:
            return None
        return tuple(test for test in self.tests if names & test.functions)


def calls_of(digest: str, records: Iterable[Path]) -> Calls:
    """Return what was recorded, by several processes."""
    lines = [msgspec.json.decode(line, type=Called) for path in records for line in path.read_bytes().splitlines()]
    tests = sorted((one for one in lines if one.test != COLLECTING), key=lambda one: (one.seconds, one.test))
    collecting = frozenset(chain.from_iterable(one.functions for one in lines if one.test == COLLECTING))
    return Calls(digest, tuple(tests), collecting)


def digest_of_calls(target: Target, marks: str) -> str:
    """Return a digest of all that the calls of a target depend on."""
    return " ".join([target.digest_of_tests, *target.digests.values(), marks])


def read_calls(path: Path) -> Mapping[str, Calls]:
    """Return what earlier runs recorded, by target."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Calls])
    except (FileNotFoundError, msgspec.DecodeError):
        return {}


class Recorder:
    """Recorder of the calls of some tests, each in a process of its own: no cache hides what an earlier one called.

    `part` of `parts` are those tests; the record has a line for each.
    """

    def __init__(self, target: Target, part: int, parts: int, record: Path) -> None:
        self._modules = {str(path): module for module, path in target.sources.items()}
        self._tests, self._part, self._parts, self._record = target.tests, part, parts, record
        self._called: set[tuple[str, str]] = set()

    def run(self, marks: str, log: Path) -> int:
        """Record all; return 1 if a test fails."""
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        return collect(self._tests, marks, log, self._each)

    def _trace(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if code.co_filename in self._modules:
            self._called.add((code.co_filename, code.co_qualname))

    def _each(self, items: Sequence[pytest.Item]) -> int:
        self._add(COLLECTING)
        return max((self._alone(item) for item in items[self._part :: self._parts]), default=0)

    def _alone(self, item: pytest.Item) -> int:
        sys.stdout.flush()
        child = os.fork()
        if child:
            return int(os.waitpid(child, 0)[1] != 0)
        status = 1
        try:
            self._called.clear()
            status = run_tests([item])
            self._add(item.nodeid)
        finally:
            sys.stdout.flush()
            os._exit(status)

    def _add(self, test: str) -> None:
        functions = frozenset(f"{self._modules[path]}:{name}" for path, name in self._called)
        line = msgspec.json.encode(Called(test, round(sum(os.times()[:4]), 3), functions)) + b"\n"
        with self._record.open("ab") as file:
            file.write(line)
