"""What the plugin's own configuration says: super users, who is never audited, proxies, groups of the user store.

Numbers are sections of `reference/ranger/policy-engine.md` [1.6, 4.2, 12.2].
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from strategies import GROUPS, ROLES, USERS, core_scenarios, everywhere, some

Json = dict[str, Any]

ENRICHER = "org.apache.ranger.plugin.contextenricher.RangerUserStoreEnricher"
CLIENTS, PROXIES = ("10.0.0.1", "10.0.1.2"), ("192.168.0.1", "192.168.0.2")


def names(of: tuple[str, ...], separator: str = ",") -> st.SearchStrategy[str]:
    return some(of).map(separator.join)


SWITCH = st.sampled_from(["true", "false", "TRUE", "yes", ""])
KEYS = {
    "super.users": names(USERS, " , "),
    "super.groups": names(GROUPS),
    "audit.exclude.users": names(USERS),
    "audit.exclude.groups": names(GROUPS),
    "audit.exclude.roles": names(ROLES),
}


def keys_of(definition: Json, drawn: Json) -> Json:
    return {f"ranger.plugin.{definition['name']}.{key}": value for key, value in drawn.items()}


@st.composite
def privilege_scenarios(draw: st.DrawFn) -> Json:
    """The lists of users that the service's configuration has too; both count."""
    scenario = draw(core_scenarios())
    policies = scenario["policies"]
    scenario["conf"] = keys_of(policies["serviceDef"], draw(st.fixed_dictionaries({}, optional=KEYS)))
    in_service = {f"ranger.plugin.{key}": value for key, value in KEYS.items()}
    policies["serviceConfig"] = draw(st.fixed_dictionaries({}, optional=in_service))
    return scenario


@st.composite
def proxy_scenarios(draw: st.DrawFn) -> Json:
    """Items for some addresses, asked for by way of proxies that are believed, or not."""
    scenario = draw(core_scenarios())
    for policy in scenario["policies"]["policies"]:
        for item in [*policy.get("policyItems", ()), *policy.get("denyPolicyItems", ())]:
            item["conditions"] = [{"type": "ip", "values": [draw(st.sampled_from(CLIENTS))]}]
    drawn = st.fixed_dictionaries(
        {"use.x-forwarded-for.ipaddress": SWITCH}, optional={"trusted.proxy.ipaddresses": names(PROXIES, "; ")}
    )
    scenario["conf"] = keys_of(scenario["policies"]["serviceDef"], draw(drawn))
    addresses = st.fixed_dictionaries(
        {"remoteIP": st.sampled_from(CLIENTS + PROXIES)},
        optional={
            "clientIP": st.sampled_from(CLIENTS),
            "forwarded": st.lists(st.sampled_from(CLIENTS + PROXIES), max_size=2),
        },
    )
    everywhere(scenario, draw(st.lists(addresses, min_size=7, max_size=7)))
    return scenario


@st.composite
def user_store_scenarios(draw: st.DrawFn) -> Json:
    """Groups that the user store knows and the request does not name."""
    scenario = draw(core_scenarios())
    definition = scenario["policies"]["serviceDef"]
    definition["contextEnrichers"] = [{"itemId": 1, "name": "users", "enricher": ENRICHER}]
    groups = draw(st.dictionaries(st.sampled_from(USERS), some(GROUPS), max_size=3))
    scenario["userStore"] = {"serviceName": "s", "userStoreVersion": 1, "userGroupMapping": groups}
    scenario["conf"] = keys_of(definition, {"use.rangerGroups": draw(SWITCH)})
    return scenario
