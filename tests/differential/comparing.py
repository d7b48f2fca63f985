"""How two engines are held against each other: how many requests, which fields, and what is said when they differ."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from strategies import REQUESTS_A_SCENARIO

Json = Mapping[str, Any]
Judge = Callable[[Json], Sequence[Json]]

FIELDS = ("allowed", "determined", "policyId", "audited", "auditPolicyId", "zone")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A scenario that does not spell itself out: what differs is told by the assertion."""

    scenario: Json = field(repr=False)


FUZZ = int(os.environ.get("FUZZ_TIMES", "0"))
"""How many times its number of requests each comparison makes, with new seeds; 0: its number, the same every time."""


def compare(
    scenarios: st.SearchStrategy[Any], ours: Judge, judge: Judge, at_least: int, known: Iterable[str] = FIELDS
) -> None:
    """Put scenarios before both until `at_least` requests are answered the same by both."""
    compared, at_least = 0, at_least * (FUZZ or 1)

    @settings(
        max_examples=math.ceil(at_least / REQUESTS_A_SCENARIO),
        derandomize=not FUZZ,
        database=None,
        phases=[Phase.generate],  # `minimise.py` makes it small, in seconds
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        verbosity=Verbosity.quiet,
    )
    @given(scenarios.map(Drawn))
    def every(drawn: Drawn) -> None:
        nonlocal compared
        scenario = drawn.scenario
        if found := difference(scenario, ours(scenario), judge(scenario), known):
            raise AssertionError(f"the engines differ:\n{json.dumps(found, ensure_ascii=False)}")
        compared += len(scenario["requests"])

    every()
    assert compared >= at_least


def difference(scenario: Json, ours: Sequence[Json], judged: Sequence[Json], known: Iterable[str]) -> Json | None:
    """The first request answered differently, as a scenario of its own with both answers."""
    for request, our, theirs in zip(scenario["requests"], ours, judged, strict=True):
        if any(our.get(name) != theirs.get(name) for name in compared_fields(request, known)):
            return {**scenario, "requests": [request], "ours": our, "theirs": theirs}
    return None


def compared_fields(request: Json, known: Iterable[str] = FIELDS) -> list[str]:
    """Which of several allowing policies is named for several access types depends on Java's hash order."""
    several = request.get("allAccessTypes") or request.get("accessType") in (None, "", "_any")
    return [name for name in known if not (several and name == "policyId")]
