"""Which test calls which functions of a target, and how long it takes: a mutant needs only those tests."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType

import msgspec
import pytest

from tests.mutation.fault import Fault
from tests.mutation.session import collect, run_tests
from tests.mutation.targets import ROOT, Target

COLLECTING = ""
"""The test of what is called before the first one."""

ANY_FILE = ""
"""The file of what is called by modules that several files may use."""

_TEST_MODULE = re.compile(r"^\s*(?:from|import) tests((?:\.\w+)*\.test_\w+)", re.MULTILINE)


class Called(msgspec.Struct, frozen=True):
    """A line of a record: what a test of a file calls, as `module:function`, and its processor seconds."""

    file: str
    test: str
    seconds: float
    functions: frozenset[str]


class Needed(msgspec.Struct, frozen=True):
    """Tests that a fault needs, the fastest first: in functions that are loaded, or where it must be imported."""

    in_place: tuple[Called, ...]
    by_import: tuple[Called, ...]


class Calls(msgspec.Struct, frozen=True):
    """What the tests of a target call, the fastest first, and what is called before; `digest`: what it depends on.

    `collecting` are the functions that were called when a file was imported, by any file that may have what they
    returned, `ANY_FILE` if all may.
    """

    digest: str
    tests: tuple[Called, ...]
    collecting: Mapping[str, frozenset[str]]

    def needed(self, fault: Fault) -> Needed:
        """Return the tests that a fault needs; a file that may have what the real function returned must see it new."""
        names = frozenset(f"{fault.module}:{function}" for function in fault.functions or ())
        holders = {file for file, functions in self.collecting.items() if names & functions}
        if fault.functions is None or ANY_FILE in holders:
            return Needed((), self.tests)
        return Needed(
            tuple(test for test in self.tests if test.file not in holders and names & test.functions),
            tuple(test for test in self.tests if test.file in holders),
        )


def calls_of(digest: str, records: Iterable[Path]) -> Calls:
    """Return what was recorded, by several processes."""
    lines = [msgspec.json.decode(line, type=Called) for path in records for line in path.read_bytes().splitlines()]
    tests = [one for one in lines if one.test != COLLECTING]
    collecting: dict[str, frozenset[str]] = {}
    for one in lines:
        if one.test == COLLECTING:
            collecting[one.file] = collecting.get(one.file, frozenset()) | one.functions
    return Calls(digest, tuple(sorted(tests, key=lambda one: (one.seconds, one.test))), collecting)


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
        self._imported = imported_tests()
        self._holder: Callable[[FrameType], str] = self._file
        self._called: dict[str, set[tuple[str, str]]] = defaultdict(set)

    def run(self, marks: str, log: Path) -> int:
        """Record all; return 1 if a test fails."""
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        return collect(self._tests, marks, log, self._each)

    def _trace(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if code.co_filename in self._modules:
            self._called[self._holder(frame)].add((code.co_filename, code.co_qualname))

    def _file(self, frame: FrameType | None) -> str:
        """Return the file that pytest imports, if no other module can have what its calls return."""
        while frame is not None and frame.f_code.co_name != "<module>":
            frame = frame.f_back
        path = None if frame is None else Path(frame.f_code.co_filename)
        if path is None or not path.name.startswith("test_") or path in self._imported:
            return ANY_FILE
        return os.path.relpath(path, ROOT)

    def _each(self, items: Sequence[pytest.Item]) -> int:
        for file in self._called:
            self._add(file, COLLECTING)
        return max((self._alone(item) for item in items[self._part :: self._parts]), default=0)

    def _alone(self, item: pytest.Item) -> int:
        sys.stdout.flush()
        child = os.fork()
        if child:
            return int(os.waitpid(child, 0)[1] != 0)
        status = 1
        try:
            self._called.clear()
            file = os.path.relpath(item.path, ROOT)
            self._holder = lambda _: file
            status = run_tests([item])
            self._add(file, item.nodeid)
        finally:
            sys.stdout.flush()
            os._exit(status)

    def _add(self, file: str, test: str) -> None:
        functions = frozenset(f"{self._modules[path]}:{function}" for path, function in self._called[file])
        line = msgspec.json.encode(Called(file, test, round(sum(os.times()[:4]), 3), functions)) + b"\n"
        with self._record.open("ab") as record:
            record.write(line)


def imported_tests() -> frozenset[Path]:
    """Return the files of tests that other tests import something from."""
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    names = {name for text in texts for name in _TEST_MODULE.findall(text)}
    return frozenset((ROOT / "tests").joinpath(*name[1:].split(".")).with_suffix(".py") for name in names)
