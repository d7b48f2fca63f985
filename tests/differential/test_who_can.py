"""The table of who can do what says what is decided: by this project's engine, and by Ranger's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ranger_cdap.engine import EngineOptions, Verdict
from tests.differential.java_engine import JavaEngine
from tests.differential.our_engine import AS_RANGER, decide, load
from tests.differential.phenomena_conditions import condition_scenarios, schedule_scenarios
from tests.differential.phenomena_settings import setting_scenarios
from tests.differential.phenomena_tags import tag_and_zone_scenarios, tag_scenarios
from tests.differential.phenomena_zones import zone_scenarios
from tests.differential.strategies import core_scenarios
from tests.differential.who_can_table import Claim, claims_about, contradicted, table_of

Json = Mapping[str, Any]

SCENARIOS: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
    "core": core_scenarios,
    "conditions": condition_scenarios,
    "schedules": schedule_scenarios,
    "super users": setting_scenarios,
    "zones": zone_scenarios,
    "tags": tag_scenarios,
    "tags and zones": tag_and_zone_scenarios,
}
CIRCUMSTANCES = ("accessTime", "clientIP", "remoteIP", "clusterName", "clusterType", "action", "context")
UNCONDITIONAL = ("conditions", "validitySchedules", "validityPeriods")

laws = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
each_claim = pytest.mark.parametrize("phenomenon", SCENARIOS)


def all_claims(scenario: Json, options: EngineOptions, resources: int) -> Iterator[Claim]:
    """What the tables of the first resources of a scenario claim, in the circumstances of its last requests."""
    engine, requests = load(scenario, options), scenario["requests"]
    circumstances = [{key: asked[key] for key in CIRCUMSTANCES if key in asked} for asked in requests[-3:]]
    for asked in requests[:: len(requests) // resources]:
        where = {key: asked[key] for key in ("resource", "resourceOwner", "matchingScope") if key in asked}
        yield from claims_about(engine, where, [without_macros(each) for each in circumstances])


def without_macros(circumstance: Json) -> Json:
    context = {k: v for k, v in circumstance.get("context", {}).items() if not k.startswith("token:")}
    return {**circumstance, "context": context}


def contradictions(phenomenon: str, options: EngineOptions, judge: Callable[[Json], Sequence[Json]]) -> list[Any]:
    found: list[Any] = []

    @laws
    @given(SCENARIOS[phenomenon]())
    def look(scenario: Json) -> None:
        claims = list(all_claims(scenario, options, resources=5))
        asked = {**scenario, "requests": [request for request, _ in claims]}
        found.extend(contradicted(claims, judge(asked)))

    look()
    return found


@pytest.mark.slow
@each_claim
@pytest.mark.parametrize("options", [EngineOptions(), AS_RANGER], ids=["safe", "ranger"])
def test_who_can_says_what_evaluate_decides(options: EngineOptions, phenomenon: str) -> None:
    assert contradictions(phenomenon, options, lambda scenario: decide(scenario, options)) == []


@pytest.mark.java
@each_claim
def test_who_can_says_what_java_decides(java: JavaEngine, phenomenon: str) -> None:
    assert contradictions(phenomenon, AS_RANGER, java.decide) == []


@pytest.mark.slow
@each_claim
def test_only_conditions_and_times_make_an_entry_conditional(phenomenon: str) -> None:
    @laws
    @given(SCENARIOS[phenomenon]())
    def law(scenario: Json) -> None:
        text = json.dumps(scenario)
        engine = load(scenario, EngineOptions())
        tables = [table_of(engine, asked) for asked in scenario["requests"][::12]]
        rows = [row for t in tables for part in (t.users, t.groups, t.roles) for row in (t.all_users, *part.values())]
        found = {entry.verdict for row in rows for entry in row.values()}
        assert Verdict.CONDITIONAL not in found or any(f'"{key}": [{{' in text for key in UNCONDITIONAL)

    law()
