"""`python -m tests.differential.fuzz`: search for scenarios that our engine and Ranger's decide differently."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

from tests.differential.corpus import CORPUS
from tests.differential.fuzz.judging import Verdict, judge
from tests.differential.fuzz.report import pair_table, report
from tests.differential.fuzz.search import SAVED_EVERY, Search
from tests.differential.fuzz.tally import Tally, resumed
from tests.differential.fuzz.vocabulary import vocabulary
from tests.differential.java_engine import JavaEngine, missing_tool

Json = dict[str, Any]

ONE_JVM = 5_000
"""Scenarios before another JVM: Ranger keeps what it works out from each definition."""

DIFFERS = 1


class JavaJudge(ExitStack):
    """Ranger's engine, in a new JVM now and then."""

    def __init__(self) -> None:
        super().__init__()
        self._asked = 0
        self._java = self.enter_context(JavaEngine())

    def __call__(self, scenario: Json, *, twice: bool = True) -> Verdict:
        self._asked += 1
        if self._asked % ONE_JVM == 0:
            self.close()
            self._java = self.enter_context(JavaEngine())
        return judge(scenario, self._java, twice=twice)


def enough(scenarios: int | None, minutes: float | None) -> Callable[[Tally], bool]:
    """Stop at so many distinct scenarios in all, after so many minutes of this run, or by Ctrl-C."""
    until = time.monotonic() + minutes * 60 if minutes is not None else None
    stopped: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        stopped.append(number)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)

    def test(tally: Tally) -> bool:
        is_late = until is not None and time.monotonic() >= until
        return bool(stopped) or is_late or (scenarios is not None and len(tally.digests) >= scenarios)

    return test


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential.fuzz", description=__doc__)
    parser.add_argument("--scenarios", type=int, help="distinct scenarios in all, with those of earlier runs")
    parser.add_argument("--minutes", type=float, help="how long this run may take")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other scenarios (default: 1)")
    parser.add_argument("--state", type=Path, required=True, help="the counts so far; goes on where this file is")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="where differences are written")
    parser.add_argument(
        "--say-every", type=float, default=SAVED_EVERY, help="seconds between two lines, and two states"
    )
    parser.add_argument("--pairs", type=Path, help="write every pair of features to this file, separated by tabs")
    given = parser.parse_args(arguments)
    if given.scenarios is None and given.minutes is None:
        parser.error("name --scenarios or --minutes")
    if sentence := missing_tool():
        parser.error(sentence)
    words = vocabulary()
    try:
        tally = resumed(given.state, given.seed, words)
    except ValueError as e:
        parser.error(str(e))
    with JavaJudge() as java:
        search = Search(words, java, given.state, given.corpus, say, saved_every=given.say_every)
        found = search.run(tally, enough(given.scenarios, given.minutes))
    say("\n".join(report(tally, words)))
    if given.pairs:
        given.pairs.write_text("\n".join(pair_table(tally, words)) + "\n", encoding="utf-8")
    return DIFFERS if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
