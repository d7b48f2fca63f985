"""The search: scenario after scenario until there are enough; what differs is made small and written to the corpus."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.differential.corpus import BESIDE_DOWNLOAD, IN_DOWNLOAD
from tests.differential.fuzz.judging import Verdict
from tests.differential.fuzz.mixed import scenario as mixed_scenario
from tests.differential.fuzz.shrinking import kinds, shrunk
from tests.differential.fuzz.tally import Found, Tally, count, digest_of
from tests.differential.fuzz.vocabulary import Vocabulary

Json = dict[str, Any]

TWICE_EVERY = 10
"""One scenario in so many is also decided in the mode `safe`, and explained: that takes as long as the rest."""

MOST_FOUND = 20
"""Differences after which a search ends: by then they have a common cause."""

SAVED_EVERY = 30.0
"""Seconds between two states on disk: a killed search repeats at most so much."""


class Judge(Protocol):
    def __call__(self, scenario: Json, *, twice: bool = True) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class Search:
    """A search whose state is in a file."""

    vocabulary: Vocabulary
    judge: Judge
    state: Path
    corpus: Path
    say: Callable[[str], None]
    scenario: Callable[[int, int], Json] = mixed_scenario
    saved_every: float = SAVED_EVERY

    def run(self, tally: Tally, enough: Callable[[Tally], bool]) -> int:
        """Go on with the tally until there are enough or `MOST_FOUND` differences; return how many were found.

        The state is saved however this ends; a scenario is in it as a whole or not at all.
        """
        before, began, first = len(tally.found), time.monotonic(), tally.next
        saved = began
        try:
            while not enough(tally) and len(tally.found) - before < MOST_FOUND:
                self._next(tally)
                if (now := time.monotonic()) - saved >= self.saved_every:
                    tally.save(self.state)
                    saved = now
                    rate = (tally.next - first) / (now - began)
                    self.say(f"{len(tally.digests):,} scenarios, {rate:.1f} a second, {len(tally.found)} differences")
        finally:
            tally.save(self.state)
        return len(tally.found) - before

    def _next(self, tally: Tally) -> None:
        number = tally.next
        drawn = self.scenario(tally.seed, number)
        verdict = self.judge(drawn, twice=number % TWICE_EVERY == 0)
        found: list[Found] = []
        reasons: list[str] = []
        if kinds(drawn, verdict):
            reasons = self.vocabulary.wilful_of(drawn)
            if not reasons:
                found.append(self._write(tally.seed, number, shrunk(drawn, self.judge)))
        tally.add(drawn, verdict, self.vocabulary.of(drawn))
        count(tally.wilful, reasons)
        tally.found += found
        tally.next += 1

    def _write(self, seed: int, number: int, small: Json) -> Found:
        """Write the difference as a case of the corpus: what Java answers is expected."""
        verdict = self.judge(small)
        asks = [
            {"request": request, "expect": their}
            for request, their in zip(small["requests"], verdict.java, strict=True)
        ]
        download = small["policies"]
        case = {
            "rule": f"seed {seed}, scenario {number}",
            "serviceDef": download["serviceDef"],
            "policies": download.get("policies", []),
            **{key: download[key] for key in IN_DOWNLOAD if key in download},
            **{key: small[key] for key in BESIDE_DOWNLOAD if key in small},
            "asks": asks,
        }
        path = self.corpus / f"found-{digest_of(small)}.json"
        about = "Found by the search of CONTRIBUTING.md: give the case the name of the rule, and a file of its kind."
        path.write_text(json.dumps({"about": about, "cases": [case]}, indent=2, ensure_ascii=False) + "\n", "utf-8")
        self.say(f"scenario {number} differs: {path}")
        return Found(number, path.name)
