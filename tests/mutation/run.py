"""A run: what tests call, then each mutant by the tests that it needs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from types import FunctionType
from typing import TypeVar

import msgspec
import pytest

from tests.mutation.calls import Called, Calls, Needed, Recorder, calls_of, digest_of_calls, read_calls
from tests.mutation.fault import Fault, fault_of, loaded_functions
from tests.mutation.operators import Mutant
from tests.mutation.running import FORK, Outcome, Running, at_once
from tests.mutation.session import collect, run_tests
from tests.mutation.targets import Target

WITHOUT_MUTANT = 1_800.0
"""Processor seconds that the tests of a target may take while they are recorded."""

T = TypeVar("T")

DEVNULL = Path(os.devnull)


class TestsFailError(Exception):
    """The tests of a target fail without any mutant; the argument is where they say why."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutant, and the tests that it needs."""

    mutant: Mutant
    target: Target
    fault: Fault
    needed: Needed


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
        """Run mutants: in functions that are loaded, which is quick; then what is left, by an import."""
        left = {one.mutant: one for one in trials if one.needed.by_import or not one.needed.in_place}
        with closing(self._in_place([one for one in trials if one.needed.in_place])) as ended:
            for one, outcome, seconds in ended:
                if outcome is Outcome.SURVIVED and one.needed.by_import:
                    continue
                left.pop(one.mutant, None)
                done(one, outcome, seconds)
        starts = (
            self._starting(one, one.needed.by_import, partial(_by_import, one, self.marks)) for one in left.values()
        )
        with closing(at_once(starts, self.workers, self.until)) as rest:
            for running, outcome in rest:
                done(running.what, outcome, running.seconds)

    def _in_place(self, trials: Sequence[Trial]) -> Generator[tuple[Trial, Outcome, float], None, None]:
        """Yield what becomes of mutants in a process that has loaded ours, so that this one has not."""
        reader, writer = FORK.Pipe(duplex=False)
        log = self.files.with_suffix(".log")
        process = FORK.Process(target=self._load, args=(trials, writer, log))
        process.start()
        writer.close()
        try:
            while True:
                n, outcome, seconds = reader.recv()
                yield trials[n], outcome, seconds
        except EOFError:
            process.join()
            if process.exitcode:
                raise TestsFailError(", ".join({one.target.name for one in trials}), log) from None
        finally:
            process.terminate()  # it ends those under way
            process.join()

    def _load(self, trials: Sequence[Trial], results: Connection, log: Path) -> None:
        def each(items: Sequence[pytest.Item]) -> int:
            by_name = {item.nodeid: item for item in items}
            loaded = loaded_functions()
            starts = (
                self._starting(
                    n, tests, partial(_in_functions, one.fault, loaded, [by_name[test.test] for test in tests])
                )
                for n, one in enumerate(trials)
                for tests in [one.needed.in_place]
            )
            with closing(at_once(starts, self.workers, self.until)) as ended:
                for running, outcome in ended:
                    results.send((running.what, outcome, running.seconds))
            return 0

        status = 0
        if trials:
            tests = dict.fromkeys(chain.from_iterable(one.target.tests for one in trials))
            status = collect(tests, self.marks, log, each)
        os._exit(status)

    def _starting(self, what: T, tests: Sequence[Called], call: Callable[[], int]) -> Callable[[], Running[T]]:
        return partial(Running, what, call, self.grace + 3 * sum(test.seconds for test in tests))


def trials_of(mutants: Iterable[tuple[Mutant, Target]], calls: Mapping[str, Calls]) -> Iterator[Trial]:
    """Yield mutants with the tests that they need."""
    for mutant, target in mutants:
        fault = fault_of(mutant, target.sources[mutant.module])
        yield Trial(mutant, target, fault, calls[target.name].needed(fault))


def _in_functions(fault: Fault, loaded: Sequence[FunctionType], tests: Sequence[pytest.Item]) -> int:
    fault.put(loaded)
    return run_tests(tests)


def _by_import(trial: Trial, marks: str) -> int:
    tests = trial.needed.by_import
    if not tests:  # no test calls it
        return 0
    place = {test.test: n for n, test in enumerate(tests)}

    def order(item: pytest.Item) -> int:
        return place.get(item.nodeid, len(place))  # tests that only the fault makes come last

    trial.fault.put()
    return collect(
        dict.fromkeys(test.file for test in tests), marks, DEVNULL, lambda items: run_tests(sorted(items, key=order))
    )
