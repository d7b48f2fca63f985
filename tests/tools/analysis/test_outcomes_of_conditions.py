"""Laws of conditions of plugins, of every outcome, in both modes: the analysis says what the engine decides."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Literal

import pytest
from hypothesis import given

from ranger_cdap.engine import ADMIN_ACCESS, Verdict
from ranger_cdap.errors import PolicySetError
from ranger_cdap.tools.analysis.access_paths import CellFinder
from ranger_cdap.tools.analysis.impact import impact
from tests.tools.analysis.guards import contains
from tests.tools.analysis.small_sets import ACCESSES, changed, engine, requests, scenario
from tests.tools.analysis.test_impact_laws import SETS, drawn, randoms

FEATURES = frozenset({"conditions", "outcomes"})
ASKED = 60


@pytest.mark.parametrize("mode", ["safe", "ranger"])
def test_a_look_up_and_an_impact_decide_as_the_engine(mode: Literal["safe", "ranger"]) -> None:
    seen = Counter[tuple[bool, bool]]()

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        documents = scenario(random, FEATURES)
        try:
            old, new = engine(documents, mode), engine(changed(random, documents, FEATURES), mode)
        except PolicySetError:
            return
        cells, found = CellFinder(old), impact(old, new)
        for access in (*ACCESSES, ADMIN_ACCESS):
            for request in random.sample(list(requests(FEATURES, access)), ASKED):
                before, after = (each.evaluate(request).allowed for each in (old, new))
                seen[before, after] += 1
                assert (cells.lookup(request).verdict is Verdict.ALLOWED) == before, request
                for rows, expected in ((found.gained, after and not before), (found.lost, before and not after)):
                    path = tuple(request.resource)
                    inside = [
                        row
                        for row in rows
                        if (row.source.access, row.source.region.path) == (access, path)
                        and contains(found.pair.new, row.guard, request)
                    ]
                    assert len(inside) == expected, request

    holds()
    assert len(seen) == 4
    assert min(seen.values()) > SETS, seen
