"""Security zones: parts of the resources that have policies of their own [§13].

Left out, because Java itself gives no one answer: `_any` where several zones match (the order of a hash set).
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.differential.definitions import paths
from tests.differential.strategies import NAMES, core_policies, core_scenarios, numbered

Json = dict[str, Any]


@st.composite
def zone_resources(draw: st.DrawFn, definition: Json) -> dict[str, list[str]]:
    path = draw(st.sampled_from(paths(definition)))
    values = st.lists(st.sampled_from((*NAMES, "*", "a*", "{USER}")), min_size=1, max_size=2)
    return {name: draw(values) for name in path[: draw(st.integers(1, len(path)))]}


@st.composite
def zone_scenarios(draw: st.DrawFn) -> Json:
    """Parts of the resources that have policies of their own."""
    scenario = draw(core_scenarios())
    definition = scenario["policies"]["serviceDef"]
    zones: Json = {}
    for place, name in enumerate(draw(st.sampled_from([("z",), ("z",), ("z", "y")])), 1):
        zones[name] = {
            "zoneName": name,
            "resources": draw(st.lists(zone_resources(definition), min_size=1, max_size=2)),
            "policies": numbered(
                draw(st.lists(core_policies(definition), max_size=4)), first=100 * place, names=f"{name} policy"
            ),
        }
    scenario["policies"]["securityZones"] = zones
    if len(zones) > 1:
        plain = definition["accessTypes"][0]["name"]
        for request in scenario["requests"]:
            if request.get("accessType") in (None, "", "_any"):
                request["accessType"] = plain
    return scenario
