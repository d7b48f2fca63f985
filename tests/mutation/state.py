"""The results so far: a run goes on where the one before was ended."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tests.mutation.operators import Mutant
from tests.mutation.running import Outcome
from tests.mutation.targets import Target


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
        if result is None or result.source != target.digests[mutant.module]:
            return None
        again = result.outcome is Outcome.SURVIVED and result.tests != target.digest_of_tests
        return None if again else result.outcome

    def add(self, mutant: Mutant, target: Target, outcome: Outcome, seconds: float) -> None:
        """Keep a result."""
        source = target.digests[mutant.module]
        result = Result(mutant.place, mutant.change, source, target.digest_of_tests, outcome, round(seconds, 1))
        self._results[mutant.place, mutant.change] = result
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(result) + b"\n")


def _result(line: bytes) -> Result | None:
    try:
        return msgspec.json.decode(line, type=Result)
    except msgspec.DecodeError:
        return None
