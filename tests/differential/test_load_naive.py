"""Law: what is odd about a download makes the careful engine allow nothing that the naive engine would not.

The naive engine reads the same download as plainly as it can: a null there is the same as nothing at all.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.engine import EngineOptions
from ranger_cdap.errors import PolicySetError
from tests.differential.our_engine import decide
from tests.differential.strategies import core_scenarios
from tests.differential.test_reference_engine import reference

Json = dict[str, Any]

NULLABLE = ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions", "additionalResources")
NULLABLE += ("isDenyAllElse", "isEnabled", "isAuditEnabled", "policyPriority", "policyType")
WITHIN = ("users", "groups", "roles", "accesses", "values")

laws = settings(
    max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


def more_than_naive(spoiled: Json, plain: Json) -> list[Json]:
    try:
        ours = decide(spoiled, EngineOptions())
    except PolicySetError:
        return []
    pairs = zip(spoiled["requests"], ours, reference(plain), strict=True)
    return [request for request, our, naive in pairs if our["allowed"] and not naive["allowed"]]


def with_nulls(value: Any, places: set[str]) -> Any:
    """Nulls for the fields of these names."""
    if isinstance(value, dict):
        return {k: None if k in places else with_nulls(v, places) for k, v in value.items()}
    return [with_nulls(v, places) for v in value] if isinstance(value, list) else value


def without(value: Any, places: set[str]) -> Any:
    if isinstance(value, dict):
        return {k: without(v, places) for k, v in value.items() if k not in places}
    return [without(v, places) for v in value] if isinstance(value, list) else value


@laws
@given(core_scenarios(), st.sets(st.sampled_from((*NULLABLE, *WITHIN)), max_size=3))
def test_null_fields(scenario: Json, places: set[str]) -> None:
    policies = scenario["policies"]["policies"]
    spoiled = {**scenario, "policies": {**scenario["policies"], "policies": with_nulls(policies, places)}}
    plain = {**scenario, "policies": {**scenario["policies"], "policies": without(policies, places)}}
    assert more_than_naive(spoiled, with_lists(plain)) == []


def with_lists(plain: Json) -> Json:
    """The naive engine needs the lists of values that are missing."""
    for policy in plain["policies"]["policies"]:
        for levels in [policy["resources"], *(policy.get("additionalResources") or ())]:
            for level in levels.values():
                level.setdefault("values", [])
    return plain


@pytest.mark.slow
@laws
@given(core_scenarios(), st.data())
def test_doubled_ids(scenario: Json, data: st.DataObject) -> None:
    policies = [dict(policy) for policy in scenario["policies"]["policies"]]
    for policy in policies:
        if data.draw(st.booleans()):
            policy["id"] = data.draw(st.integers(1, len(policies)))
    spoiled = {**scenario, "policies": {**scenario["policies"], "policies": policies}}
    assert more_than_naive(spoiled, scenario) == []
