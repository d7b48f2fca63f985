"""Laws: too few steps never allow more, and enough of them change nothing (engine/cost.py)."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.engine import EngineOptions
from ranger_cdap.engine.compiled import cost
from tests.differential.definitions import paths
from tests.differential.our_engine import decide
from tests.differential.strategies import core_scenarios, numbered
from tests.differential.test_reference_engine import reference

Json = dict[str, Any]

laws = settings(
    max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)

ENOUGH = 100_000
"""More steps than the short values of these scenarios need, and fewer than values of the greatest length would."""


@pytest.mark.slow
@laws
@given(core_scenarios(), st.sampled_from((0, 50, 100, 200, 2_000)))
def test_too_few_steps_never_allow_more(scenario: Json, steps: int) -> None:
    scenario = with_everything_allowed(scenario)
    with patch.object(cost, "MAX_STEPS", steps):
        ours = decide(scenario, EngineOptions())
    pairs = zip(scenario["requests"], ours, reference(scenario), strict=True)
    assert [request for request, our, naive in pairs if our["allowed"] and not naive["allowed"]] == []


def with_everything_allowed(scenario: Json) -> Json:
    """What is denied, a policy of the scenario denies: what every other of them allowed, and more by the rest."""
    policies, definition = scenario["policies"], scenario["policies"]["serviceDef"]
    options = {**definition.get("options", {}), "enableDenyAndExceptionsInPolicies": "true"}
    everything = [{"type": access["name"]} for access in definition["accessTypes"]]
    denying = [
        {**policy, "denyPolicyItems": policy["policyItems"], "policyItems": []} if n % 2 else policy
        for n, policy in enumerate(policies["policies"])
    ]
    more = [
        {
            "resources": {name: {"values": ["*"]} for name in path},
            "policyItems": [{"groups": ["public"], "accesses": everything}],
        }
        for path in paths(definition)
    ]
    whole = [*denying, *numbered(more, first=1_000, names="all")]
    return {**scenario, "policies": {**policies, "serviceDef": {**definition, "options": options}, "policies": whole}}


@pytest.mark.slow
@laws
@given(core_scenarios())
def test_enough_steps_change_nothing(scenario: Json) -> None:
    with patch.object(cost, "MAX_STEPS", ENOUGH):
        ours = decide(scenario, EngineOptions())
    assert ours == decide(scenario, EngineOptions())
