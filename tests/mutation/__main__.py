"""`python -m tests.mutation`: put small faults into the code, and see whether the fast tests notice each."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.mutation.operators import Mutant
from tests.mutation.run import Run, TestsFailError, Trial, trials_of
from tests.mutation.running import Outcome, load_libraries
from tests.mutation.state import State
from tests.mutation.targets import SURVIVORS, TARGETS, Survivor, Target, explained, sampled, survivors, targets

SURVIVED, UNUSABLE = 1, 2


def say(text: str) -> None:
    # While tests are loaded, `sys.stdout` is a log.
    assert sys.__stdout__ is not None
    sys.__stdout__.write(text + "\n")
    sys.__stdout__.flush()


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
    done = 0

    def keep(trial: Trial, outcome: Outcome, seconds: float) -> None:
        nonlocal done
        done += 1
        state.add(trial.mutant, trial.target, outcome, seconds)
        say(f"{done}/{len(pending)} {outcome} {seconds:.0f} s  {trial.mutant}")

    # Like Ctrl-C: what is under way is ended, and the rest reported.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        if pending:
            load_libraries()
            run = Run(given.workers, until, given.grace, given.marks, given.state, say)
            try:
                calls = run.calls(dict.fromkeys(target for _, target in pending))
                run.run(list(trials_of(pending, calls)), keep)
            except TestsFailError as error:
                name, log = error.args
                sys.stderr.write(f"the tests of `{name}` fail without any mutant: see {log}\n")
                return UNUSABLE
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
