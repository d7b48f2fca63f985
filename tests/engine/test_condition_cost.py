"""Laws of the cost of custom conditions: a decision never takes more steps than the engine says beforehand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine import ANY_ACCESS, ConditionContext, ConditionOutcome, EngineOptions, PolicyEngine
from ranger_cdap.engine.compiled.cost import CUSTOM_STEPS, MAX_STEPS
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.engine.fixtures import CONDITIONS, Json, asks, document, item, on, policy

SPENT = Counter[int]()
"""How often a condition of these steps was evaluated; each condition of a set has steps of its own."""


class Costly:
    """A condition that always has one outcome, and counts."""

    reads_resource = False

    def __init__(self, steps: int, outcome: ConditionOutcome) -> None:
        self.max_steps, self.outcome = steps, outcome

    def __call__(self, _: ConditionContext) -> ConditionOutcome:
        SPENT[self.max_steps] += 1
        return self.outcome


def factory(values: Sequence[str], _: Mapping[str, Any]) -> Callable[[ConditionContext], ConditionOutcome]:
    steps, outcome = values
    return Costly(int(steps), ConditionOutcome[outcome])


OPTIONS = EngineOptions(conditions={CONDITIONS + "RangerScriptConditionEvaluator": factory})
outcomes = st.sampled_from([one.name for one in ConditionOutcome])
places = st.sampled_from([on(hall="h"), on(hall="*"), on(hall="h", shelf="*"), on(hall="other")])


@st.composite
def policies(draw: st.DrawFn, first: int = 1) -> list[Json]:
    steps = iter(range(1_000 * first, 1_000 * (first + 1)))

    def conditions() -> list[Json]:
        count = draw(st.integers(0, 2))
        drawn = [{"type": "script", "values": [str(next(steps)), draw(outcomes)]} for _ in range(count)]
        return [*drawn, *([{"type": "ip", "values": ["10.*"]}] if draw(st.booleans()) else [])]

    def items() -> list[Json]:
        who, access = st.sampled_from(["alice", "@staff", "@public", "bob"]), st.sampled_from(["read", "write", "own"])
        return [
            item(draw(who), draw(access), draw(access), conditions=conditions()) for _ in range(draw(st.integers(0, 2)))
        ]

    return [
        policy(
            first + n, draw(places), items(), items(), allowExceptions=items(), denyExceptions=items(),
            conditions=conditions(), additionalResources=draw(st.lists(places, max_size=1)),
        )
        for n in range(draw(st.integers(1, 3)))
    ]  # fmt: skip


def built(listed: Sequence[Json], **more: Any) -> PolicyEngine:
    whole = decode_service_policies(msgspec.json.encode(document(*listed, **more)))
    return PolicyEngine.build(whole, options=OPTIONS)


@given(
    policies(), st.sampled_from(["read", "write", ANY_ACCESS, "_admin"]), st.sampled_from(["h", "h2"]), st.booleans()
)
def test_a_decision_evaluates_each_condition_once_and_takes_no_more_steps_than_said(
    listed: list[Json], access: str, hall: str, known: bool
) -> None:
    engine = built(listed)
    request = asks({"hall": hall, "shelf": "s"}, "alice @staff", access, client_ip="10.1.1.1", groups_known=known)
    several = asks({"hall": hall}, "alice", "read", all_access_types=("read", "write", "own"))
    for asked in (request, several):
        SPENT.clear()
        engine.evaluate(asked)
        assert not SPENT or max(SPENT.values()) == 1
        assert sum(SPENT) <= engine.view.condition_steps


@given(policies(), policies(first=2), st.booleans())
def test_deltas_count_as_the_whole_set_does(old: list[Json], new: list[Json], removes: bool) -> None:
    deltas = [{"changeType": 0, "policy": {**one, "serviceType": "shop"}} for one in new]
    replaced = {one["id"] for one in new}
    if removes:
        deltas.append({"changeType": 2, "policy": {"id": 1, "serviceType": "shop"}})
        replaced |= {1}
    after = decode_service_policies(msgspec.json.encode(document(policies=None, policyDeltas=deltas, policyVersion=2)))
    changed = built(old).with_deltas(after)
    whole = built([*(one for one in old if one["id"] not in replaced), *new])
    assert changed.view.condition_steps == whole.view.condition_steps


@pytest.mark.parametrize(
    ("steps", "costly"),
    [([], False), ([1], False), ([MAX_STEPS], False), ([MAX_STEPS + 1], True), ([MAX_STEPS // 20] * 21, True)],
)
def test_an_engine_whose_conditions_may_take_long_says_so(steps: list[int], costly: bool) -> None:
    given = [[{"type": "script", "values": [str(one), "HOLDS"]}] for one in steps]
    listed = [policy(n, on(hall="h"), [item("alice", "read", conditions=one)]) for n, one in enumerate(given, 1)]
    assert built(listed).may_be_costly is costly
    assert not built([{**one, "isEnabled": False} for one in listed]).may_be_costly
    inside = {"zones": {"resources": [{"hall": ["h"]}], "policies": listed}}
    assert built([], securityZones=inside).may_be_costly is costly


def test_a_condition_that_does_not_say_what_it_takes_counts_a_millisecond() -> None:
    options = EngineOptions(conditions={CONDITIONS + "RangerScriptConditionEvaluator": lambda *_: lambda _: True})
    given = [{"type": "script", "values": ["x"]}]
    whole = document(policy(1, on(hall="h"), [item("alice", "read", conditions=given)], conditions=given))
    engine = PolicyEngine.build(decode_service_policies(msgspec.json.encode(whole)), options=options)
    assert engine.view.condition_steps == 2 * CUSTOM_STEPS
