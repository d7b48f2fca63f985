"""How two engines are held against each other: how many requests, which fields, and what is said when they differ."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning

from tests.differential.strategies import REQUESTS_A_SCENARIO

Json = Mapping[str, Any]
Judge = Callable[[Json], Sequence[Json]]

FIELDS = ("allowed", "determined", "policyId", "audited", "auditPolicyId", "zone")


def compare(
    scenarios: st.SearchStrategy[Any], ours: Judge, judge: Judge, at_least: int, known: Iterable[str] = FIELDS
) -> None:
    """Put scenarios before both until `at_least` requests are answered the same by both."""
    compared, differences = 0, list[Json]()

    @settings(
        max_examples=math.ceil(at_least / REQUESTS_A_SCENARIO),
        derandomize=True,
        database=None,
        phases=[Phase.generate],  # what Hypothesis makes small takes minutes
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(scenarios)
    def every(scenario: Json) -> None:
        nonlocal compared
        if not differences:
            weigh_alike(scenario)
            differences.extend(difference(scenario, ours(scenario), judge(scenario), known))
            compared += len(scenario["requests"])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisWarning)  # of an exception, that a scenario takes long to spell out
        every()
    assert not differences, f"the engines differ:\n{json.dumps(differences[0], ensure_ascii=False)}"
    assert compared >= at_least


def weigh_alike(scenario: Json) -> None:
    """Ask for one group of access types only, where policies are of several priorities.

    Of several groups that are allowed, one decides by its priority whether denials still count: in Java which one
    depends on hash order (docs/reference/compatibility.md).
    """
    if len(set(re.findall(r'"policyPriority": (-?\d+)', json.dumps(scenario)))) < 2:
        return
    for request in scenario["requests"]:
        if groups := request.get("allAccessTypeGroups"):
            request["allAccessTypeGroups"] = groups[:1]
        if request.get("accessType") in (None, "", "_any"):
            request.pop("ignoreDescendantDeny", None)


def difference(scenario: Json, ours: Sequence[Json], judged: Sequence[Json], known: Iterable[str]) -> list[Json]:
    """Each request that is answered differently, as a scenario of its own with both answers."""
    return [
        {**scenario, "requests": [request], "ours": our, "theirs": theirs}
        for request, our, theirs in zip(scenario["requests"], ours, judged, strict=True)
        if any(our.get(name) != theirs.get(name) for name in compared_fields(request, known))
    ]


def compared_fields(request: Json, known: Iterable[str] = FIELDS) -> list[str]:
    """Which of several allowing policies is named for several access types depends on Java's hash order."""
    several = request.get("allAccessTypes") or request.get("accessType") in (None, "", "_any")
    return [name for name in known if not (several and name == "policyId")]
