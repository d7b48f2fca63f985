"""`python -m tests.mutation`: put small faults into the code, and see whether the fast tests notice each."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from multiprocessing.connection import wait
from pathlib import Path

import msgspec

from tests.mutation.operators import Mutant
from tests.mutation.running import Outcome, Running, load_libraries
from tests.mutation.targets import (
    SURVIVORS,
    TARGETS,
    Survivor,
    Target,
    digest_of,
    explained,
    sampled,
    survivors,
    targets,
)

SURVIVED, UNUSABLE = 1, 2

WITHOUT_MUTANT = 1_800.0
"""Seconds that the tests of a target may take without a mutant."""


class Result(msgspec.Struct, frozen=True):
    """A line of the state: what became of a mutant, of which source, by which tests."""

    place: str
    change: str
    source: str
    tests: str
    outcome: Outcome
    seconds: float


class State:
    """The results so far; a killed run loses the mutants under way."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_bytes().splitlines() if path.exists() else []
        # The last line may have been cut off.
        found = [_result(line) for line in lines]
        self._results = {(result.place, result.change): result for result in found if result}

    def outcome(self, mutant: Mutant, target: Target) -> Outcome | None:
        """Return what became of a mutant; `None` if it must run: its module changed, or it survived other tests."""
        result = self._results.get((mutant.place, mutant.change))
        if result is None or result.source != digest_of(target.sources[mutant.module]):
            return None
        again = result.outcome is Outcome.SURVIVED and result.tests != target.digest_of_tests
        return None if again else result.outcome

    def add(self, mutant: Mutant, target: Target, outcome: Outcome, seconds: float) -> None:
        """Keep a result."""
        source = digest_of(target.sources[mutant.module])
        result = Result(mutant.place, mutant.change, source, target.digest_of_tests, outcome, round(seconds, 1))
        self._results[mutant.place, mutant.change] = result
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(result) + b"\n")


def _result(line: bytes) -> Result | None:
    try:
        return msgspec.json.decode(line, type=Result)
    except msgspec.DecodeError:
        return None


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def run(
    pending: Sequence[tuple[Mutant, Target]], limits: Mapping[str, float], workers: int, marks: str, until: float
) -> Iterator[tuple[Running, Outcome]]:
    """Yield what becomes of each, several at once; those under way at the end of the time, or by Ctrl-C, are ended."""
    left = iter(pending)
    under_way: list[Running] = []
    try:
        while time.monotonic() < until:
            for mutant, target in islice(left, workers - len(under_way)):
                under_way.append(Running(target, mutant, limits[target.name], marks))
            if not under_way:
                return
            wait([one.sentinel for one in under_way], timeout=0.5)
            for one in [one for one in under_way if one.is_over or one.is_late]:
                under_way.remove(one)
                yield one, one.outcome()
    finally:
        for one in under_way:
            one.end()


def measured(used: Iterable[Target], marks: str, grace: float, log: Path) -> dict[str, float]:
    """Return the processor seconds that tests may take with a mutant, by those they take without."""
    limits = {}
    for target in used:
        before = sum(os.times()[2:4])
        tests = Running(target, None, WITHOUT_MUTANT, marks, log)
        try:
            wait([tests.sentinel], timeout=WITHOUT_MUTANT)
            passed = tests.outcome() is Outcome.SURVIVED
        finally:
            tests.end()
        if not passed:
            sys.stderr.write(f"the tests of `{target.name}` fail without any mutant: see {log}\n")
            raise SystemExit(UNUSABLE)
        seconds = sum(os.times()[2:4]) - before
        limits[target.name] = grace + 3 * seconds
        say(f"{target.name}: its tests take {seconds:.0f} s, with a mutant {limits[target.name]:.0f} s at most")
    return limits


def main(arguments: Sequence[str]) -> int:
    """Run the sample and report it; the exit code is 1 if a survivor is not explained, or not all has run."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--state", type=Path, required=True, help="results so far; goes on where this file is")
    parser.add_argument("--sample", type=int, default=500, help="mutants, drawn by the seed (default: 500)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other mutants (default: 1)")
    parser.add_argument("--only", action="append", help="those of the sample with this in their text; repeatable")
    parser.add_argument("--minutes", type=float, default=60, help="how long this run may take (default: 60)")
    parser.add_argument("--workers", type=int, default=2, help="processes at once (default: 2)")
    parser.add_argument("--targets", type=Path, default=TARGETS, help="what is mutated, and the tests of it")
    parser.add_argument("--survivors", type=Path, default=SURVIVORS, help="mutants that may survive")
    parser.add_argument("--grace", type=float, default=10, help="processor seconds that each may take in any case")
    parser.add_argument("--marks", default="", help="pytest's expression for the tests that count")
    given = parser.parse_args(arguments)
    until = time.monotonic() + given.minutes * 60
    state = State(given.state)
    target_of = {mutant: target for target in targets(given.targets) for mutant in target.mutants()}
    sample = [
        one
        for one in sampled(target_of, given.sample, given.seed)
        if any(text in str(one) for text in given.only or [""])
    ]
    pending = [(one, target_of[one]) for one in sample if state.outcome(one, target_of[one]) is None]
    say(f"{len(target_of)} mutants, {len(sample)} in the sample, {len(pending)} of them to run")
    # Like Ctrl-C: what is under way is ended, and the rest reported.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        if pending:
            load_libraries()
            used = dict.fromkeys(target for _, target in pending)
            limits = measured(used, given.marks, given.grace, given.state.with_suffix(".log"))
            for n, (one, outcome) in enumerate(run(pending, limits, given.workers, given.marks, until), start=1):
                assert one.mutant is not None
                state.add(one.mutant, one.target, outcome, one.seconds)
                say(f"{n}/{len(pending)} {outcome} {one.seconds:.0f} s  {one.mutant}")
    results = [(one, target_of[one], state.outcome(one, target_of[one])) for one in sample]
    return report(results, survivors(given.survivors))


def report(results: Sequence[tuple[Mutant, Target, Outcome | None]], known: Sequence[Survivor]) -> int:
    """Print the score by target, and the survivors that are not explained."""
    for name in dict.fromkeys(target.name for _, target, _ in results):
        of_it = [(mutant, outcome) for mutant, target, outcome in results if target.name == name and outcome]
        counts = Counter(outcome for _, outcome in of_it)
        noticed = counts[Outcome.KILLED] + counts[Outcome.TIMED_OUT]
        with_reason = sum(outcome is Outcome.SURVIVED and explained(mutant, known) for mutant, outcome in of_it)
        score = f"{noticed / len(of_it):.1%}" if of_it else "-"
        say(f"{name}: {len(of_it)} run, {noticed} noticed ({score}), {with_reason} survivors explained")
    open_ = [mutant for mutant, _, outcome in results if outcome is Outcome.SURVIVED and not explained(mutant, known)]
    for mutant in open_:
        say(f"survived: {mutant}")
    left = sum(outcome is None for *_, outcome in results)
    if left:
        say(f"{left} have not run yet: run it again, it goes on from here")
    return SURVIVED if open_ or left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
