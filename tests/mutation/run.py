"""A run: what tests call, then each mutant by the tests that it needs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from types import FunctionType

import msgspec
import pytest

from tests.mutation.calls import Called, Calls, Recorder, calls_of, digest_of_calls, read_calls
from tests.mutation.fault import Fault, fault_of, loaded_functions
from tests.mutation.operators import Mutant
from tests.mutation.running import Outcome, Running, at_once
from tests.mutation.session import collect, run_tests
from tests.mutation.targets import Target

WITHOUT_MUTANT = 1_800.0
"""Processor seconds that the tests of a target may take while they are recorded."""

DEVNULL = Path(os.devnull)


class TestsFailError(Exception):
    """The tests of a target fail without any mutant; the argument is where they say why."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutant and the tests that it needs, the fastest first; `by_import` if loaded functions would not show it."""

    mutant: Mutant
    target: Target
    fault: Fault
    tests: tuple[Called, ...]
    by_import: bool


Done = Callable[[Trial, Outcome, float], None]


@dataclass(frozen=True, slots=True)
class Run:
    """How to run: so many processes at once, until a time of the monotonic clock; `files` begins the paths of files."""

    workers: int
    until: float
    grace: float
    marks: str
    files: Path
    say: Callable[[str], None]

    def calls(self, used: Iterable[Target]) -> Mapping[str, Calls]:
        """Return what the tests of targets call: as recorded before, if neither they nor their modules changed.

        Raises:
            TestsFailError: tests fail without any mutant.
        """
        path = self.files.with_suffix(".calls")
        found = dict(read_calls(path))
        for target in used:
            digest = digest_of_calls(target, self.marks)
            if target.name not in found or found[target.name].digest != digest:
                found[target.name] = self._record(target, digest)
                path.write_bytes(msgspec.json.encode(found))
        return found

    def _record(self, target: Target, digest: str) -> Calls:
        begun = time.monotonic()
        parts = [self.files.with_suffix(f".{target.name}{n}") for n in range(self.workers)]
        starts = []
        for n, part in enumerate(parts):
            part.unlink(missing_ok=True)
            recorder, log = Recorder(target, n, len(parts), part), Path(f"{part}.log")
            starts.append(partial(Running, log, partial(recorder.run, self.marks, log), WITHOUT_MUTANT, log))
        with closing(at_once(starts, len(starts), float("inf"))) as ended:
            for one, outcome in ended:
                if outcome is not Outcome.SURVIVED:
                    raise TestsFailError(target.name, one.what)
        calls = calls_of(digest, parts)
        for part in parts:
            part.unlink()
            Path(f"{part}.log").unlink()
        self.say(f"{target.name}: {len(calls.tests)} tests, recorded in {time.monotonic() - begun:.0f} s")
        return calls

    def run(self, trials: Sequence[Trial], done: Done) -> None:
        """Run mutants: first those that only an import shows, as nothing of ours is loaded yet."""
        by_import = [one for one in trials if one.by_import]
        self._all([partial(self._start, one, partial(_by_import, one, self.marks)) for one in by_import], done)
        in_place = [one for one in trials if not one.by_import]
        if in_place and time.monotonic() < self.until:
            tests = dict.fromkeys(chain.from_iterable(one.target.tests for one in in_place))
            collect(tests, self.marks, self.files.with_suffix(".log"), partial(self._in_place, in_place, done))

    def _in_place(self, trials: Sequence[Trial], done: Done, items: Sequence[pytest.Item]) -> int:
        by_name = {item.nodeid: item for item in items}
        loaded = loaded_functions()
        starts = (
            partial(self._start, one, partial(_in_place, one.fault, loaded, [by_name[test.test] for test in one.tests]))
            for one in trials
        )
        self._all(starts, done)
        return 0

    def _start(self, trial: Trial, call: Callable[[], int]) -> Running[Trial]:
        return Running(trial, call, self.grace + 3 * sum(test.seconds for test in trial.tests))

    def _all(self, starts: Iterable[Callable[[], Running[Trial]]], done: Done) -> None:
        with closing(at_once(starts, self.workers, self.until)) as ended:
            for one, outcome in ended:
                done(one.what, outcome, one.seconds)


def trials_of(mutants: Iterable[tuple[Mutant, Target]], calls: Mapping[str, Calls]) -> Iterator[Trial]:
    """Yield mutants with the tests that they need."""
    for mutant, target in mutants:
        fault = fault_of(mutant, target.sources[mutant.module])
        tests = calls[target.name].tests_of(fault)
        yield Trial(mutant, target, fault, calls[target.name].tests if tests is None else tests, tests is None)


def _by_import(trial: Trial, marks: str) -> int:
    place = {test.test: n for n, test in enumerate(trial.tests)}
    trial.fault.put()
    # Tests that only the fault makes come last.
    return collect(
        trial.target.tests,
        marks,
        DEVNULL,
        lambda items: run_tests(sorted(items, key=lambda item: place.get(item.nodeid, len(place)))),
    )


def _in_place(fault: Fault, loaded: Sequence[FunctionType], tests: Sequence[pytest.Item]) -> int:
    fault.put(loaded)
    sys.stdout.flush()
    return run_tests(tests)
