"""How a law is held: drawn sets of policies, and what the law demands of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from tests.laws.cases import ACCESS_TYPES, Case, Drawing, Json, cases_of, scenario
from tests.laws.judges import Judge

Demand = Callable[[Case], bool | None]
"""What a law says of a case: allowed, denied, or nothing."""

FUZZ = int(os.environ.get("FUZZ_TIMES", "0"))
SETS = 80 * (FUZZ or 1)
"""Sets of policies a law is held against: the same every time, or with `make fuzz` new ones."""


class Law:
    """A law, held before one judge."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def holds(
        self, drawing: Drawing, demand: Demand, accesses: Sequence[str] = ACCESS_TYPES, on_tags: Drawing | None = None
    ) -> None:
        """Require that every case is decided as the law demands, and that it demands something often enough."""
        random = seeded()
        drawn = [drawing(random) for _ in range(SETS)]
        tagged = [on_tags(random) for _ in range(SETS)] if on_tags else []
        answers = self.judge.allows(scenario(drawn, accesses, tagged))
        demanded: Counter[bool | None] = Counter()
        for case, allowed in zip(cases_of(drawn, accesses, tagged), answers, strict=True):
            wanted = demand(case)
            demanded[wanted] += 1
            assert wanted in (None, allowed), case
        assert demanded[True] + demanded[False] >= SETS / 5, f"the law says hardly anything: {demanded}"

    def keeps(self, drawing: Drawing, change: Callable[[list[Json], list[Json]], list[Json]], more: Drawing) -> Changes:
        """Return how decisions turn when the policies of each resource change; `change` takes them and some more."""
        random = seeded()
        before = [drawing(random) for _ in range(SETS)]
        after = [change(now, more(random)) for now in before]
        old, new = (self.judge.allows(scenario(each, ACCESS_TYPES)) for each in (before, after))
        return Changes(list(zip(cases_of(after, ACCESS_TYPES), old, new, strict=True)))


class Changes:
    """Decisions before and after a change of policies."""

    def __init__(self, turned: list[tuple[Case, bool, bool]]) -> None:
        assert len({(old, new) for _, old, new in turned if old is new}) == 2, "nothing is drawn that matters"
        self.newly_allowed = [case for case, old, new in turned if new and not old]
        self.newly_denied = [case for case, old, new in turned if old and not new]


def seeded() -> Random:
    """Return the source of what is drawn."""
    return Random() if FUZZ else Random(20)
