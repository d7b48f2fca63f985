"""Policies created, changed and deleted after the load [§17]."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.differential.definitions import paths
from tests.differential.strategies import core_policies, core_scenarios

Json = dict[str, Any]

CREATE, UPDATE, DELETE = 0, 1, 2


def name_values(policy: Json) -> None:
    """Write `*` for a level without values."""
    for levels in [policy["resources"], *policy.get("additionalResources", ())]:
        for level in levels.values():
            level["values"] = [value for value in level["values"] if value] or ["*"]


@st.composite
def delta_scenarios(draw: st.DrawFn) -> Json:
    """Policies created, changed and deleted after the load; the requests come after that.

    Left out, because Java then forgets what it would do after a full load: values `[]` in a delta or in what it
    replaces, and the order of policies for the empty resource.
    """
    scenario = draw(core_scenarios())
    policies = scenario["policies"]
    definition = policies["serviceDef"]
    deltas: list[Json] = []
    changed_policies = draw(st.lists(core_policies(definition), min_size=1, max_size=5))
    for policy in (*policies["policies"], *changed_policies):
        name_values(policy)
    for n, policy in enumerate(changed_policies, 2):
        policy_id = draw(st.integers(1, 10))
        change = draw(st.sampled_from([CREATE, UPDATE, DELETE]))
        routed = {"serviceType": definition["name"], "policyType": 0, "version": n}
        content = {} if change == DELETE else {"name": f"delta {n}", **policy}
        changed = {**content, "id": policy_id, **routed}
        deltas.append({"id": n, "changeType": change, "policy": changed})
    scenario["deltas"] = {
        "serviceName": policies["serviceName"],
        "policyVersion": 2,
        "serviceDef": definition,
        "policyDeltas": deltas,
    }
    root = paths(definition)[0][0]
    for request in scenario["requests"]:
        request["resource"] = request["resource"] if any(request["resource"].values()) else {root: "a"}
    return scenario
