"""What holds for every set of policies, whoever decides: laws of our engine, without another judge."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.engine import EngineOptions
from ranger_cdap.ranger_model.document import replaced
from tests.differential.our_engine import AS_RANGER, decide, load, read_request
from tests.differential.phenomena import validity_scenarios
from tests.differential.phenomena_conditions import condition_scenarios
from tests.differential.phenomena_deltas import delta_scenarios
from tests.differential.phenomena_tags import tag_and_zone_scenarios
from tests.differential.strategies import core_scenarios, numbered

Json = Mapping[str, Any]

SAFE = EngineOptions()
laws = settings(
    max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


def newly_allowed(before: Json, after: Json, options: EngineOptions = SAFE) -> list[Json]:
    pairs = zip(after["requests"], decide(before, options), decide(after, options), strict=True)
    return [request for request, old, new in pairs if new["allowed"] and not old["allowed"]]


@pytest.mark.slow
@laws
@given(tag_and_zone_scenarios(), st.randoms(use_true_random=False))
def test_the_order_of_policies_in_the_download_does_not_matter(before: Json, random: Any) -> None:
    scenario = deepcopy(before)
    download = scenario["policies"]
    lists = [download["policies"], download["tagPolicies"]["policies"]]
    lists += [zone["policies"] for zone in download["securityZones"].values()]
    for policies in lists:
        random.shuffle(policies)
    assert decide(scenario, SAFE) == decide(before, SAFE)


@laws
@given(delta_scenarios())
def test_deltas_give_what_loading_the_changed_set_gives(before: Json) -> None:
    scenario = deepcopy(before)
    policies = {policy["id"]: policy for policy in scenario["policies"]["policies"]}
    for delta in scenario.pop("deltas")["policyDeltas"]:
        policies.pop(delta["policy"]["id"], None)
        if delta["changeType"] != 2:
            policies[delta["policy"]["id"]] = delta["policy"]
    scenario["policies"]["policies"] = list(policies.values())
    assert decide(before, SAFE) == decide(scenario, SAFE)


@laws
@given(core_scenarios(), st.integers(-1, 2))
def test_adding_a_deny_allows_nothing(before: Json, priority: int) -> None:
    scenario = deepcopy(before)
    policies = scenario["policies"]["policies"]
    denying = [
        {**policy, "policyItems": [], "denyPolicyItems": policy["policyItems"], "policyPriority": priority}
        for policy in policies
    ]
    scenario["policies"]["policies"] = [*policies, *numbered(deepcopy(denying), first=500, names="denying")]
    assert newly_allowed(before, scenario) == []


@pytest.mark.slow
@laws
@given(condition_scenarios(), st.integers(0, 3))
def test_what_cannot_be_evaluated_allows_nothing_that_ranger_would_not(before: Json, every: int) -> None:
    scenario = deepcopy(before)
    conditions = [
        condition
        for policy in scenario["policies"]["policies"]
        for part in [policy, *(item for side in policy.values() if isinstance(side, list) for item in side)]
        for condition in part.get("conditions") or ()
    ]
    for condition in conditions[every::2]:
        condition["type"] = "unheard of"
    pairs = zip(scenario["requests"], decide(scenario, SAFE), decide(scenario, AS_RANGER), strict=True)
    assert [request for request, safe, as_ranger in pairs if safe["allowed"] and not as_ranger["allowed"]] == []


@pytest.mark.slow
@laws
@given(
    st.one_of(core_scenarios(), condition_scenarios(), validity_scenarios()),
    st.integers(1, 2_000_000_000_000),
    st.sampled_from(["10.0.0.1", "192.168.1.7", None]),
)
def test_an_unconditional_decision_is_the_same_at_any_time_and_from_anywhere(
    scenario: Json, time: int, address: str | None
) -> None:
    engine = load(scenario, SAFE)
    for asked in map(read_request, scenario["requests"]):
        decision = engine.evaluate(asked)
        if not decision.conditional:
            later = replaced(asked, access_time=time, client_ip=address)
            assert engine.evaluate(later) == decision
