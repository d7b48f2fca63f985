"""Scenarios about one phenomenon each, added to a core scenario: Java alone is the judge of them.

Several at once are in the scenarios of the search (`fuzz/mixed.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.differential.phenomena_conditions import condition_scenarios, schedule_scenarios, schedules
from tests.differential.phenomena_deltas import delta_scenarios
from tests.differential.phenomena_plugin import privilege_scenarios, proxy_scenarios, user_store_scenarios
from tests.differential.phenomena_settings import setting_scenarios
from tests.differential.phenomena_tags import tag_and_zone_scenarios, tag_scenarios
from tests.differential.phenomena_zones import zone_scenarios
from tests.differential.strategies import core_scenarios, everywhere, request_resources

Json = dict[str, Any]


@st.composite
def element_scope_scenarios(draw: st.DrawFn) -> Json:
    """Levels of the request that may also be the beginning of what a policy names."""
    scenario = draw(core_scenarios())
    names = [resource["name"] for resource in scenario["policies"]["serviceDef"]["resources"]]
    scopes = st.dictionaries(st.sampled_from(names), st.sampled_from(["SELF", "SELF_OR_PREFIX"]), max_size=3)
    everywhere(scenario, draw(st.lists(scopes.map(lambda drawn: {"elementScopes": drawn}), min_size=7, max_size=7)))
    return scenario


@st.composite
def validity_scenarios(draw: st.DrawFn) -> Json:
    """Policies in force at some times only, also those of zones and of tags."""
    scenario = draw(tag_and_zone_scenarios())
    download = scenario["policies"]
    zones = download["securityZones"].values()
    for policies in [download["policies"], download["tagPolicies"]["policies"], *(zone["policies"] for zone in zones)]:
        for policy in policies:
            policy["validitySchedules"] = draw(st.lists(schedules, max_size=1))
    return scenario


@st.composite
def who_can_scenarios(draw: st.DrawFn) -> Json:
    """Resources only: who may do what there."""
    scenario = draw(core_scenarios())
    definition = scenario["policies"]["serviceDef"]
    scenario["requests"] = [
        {"id": n, "resource": resource, "accessType": "_any"}
        for n, resource in enumerate(draw(st.lists(request_resources(definition), min_size=8, max_size=8)))
    ]
    return scenario


PHENOMENA: dict[str, Callable[[], st.SearchStrategy[Json]]] = {
    "core": core_scenarios,
    "conditions": condition_scenarios,
    "schedules": schedule_scenarios,
    "settings": setting_scenarios,
    "the plugin's lists": privilege_scenarios,
    "proxies": proxy_scenarios,
    "user store": user_store_scenarios,
    "element scopes": element_scope_scenarios,
    "zones": zone_scenarios,
    "tags": tag_scenarios,
    "deltas": delta_scenarios,
}
