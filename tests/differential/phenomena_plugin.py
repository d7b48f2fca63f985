"""What the plugin's own configuration says: super users, who is never audited, proxies, groups of the user store.

Sections §1.6, §4.2 and §12.2 of `ranger-semantics.md`.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.differential.definitions import paths
from tests.differential.strategies import GROUPS, ROLES, USERS, core_scenarios, everywhere, numbered, some

Json = dict[str, Any]

ENRICHER = "org.apache.ranger.plugin.contextenricher.RangerUserStoreEnricher"
CLIENT = "10.0.0.1"
PROXIES = ("192.168.0.1", "192.168.0.2")


def names(of: tuple[str, ...]) -> st.SearchStrategy[str]:
    """A list as people write it: blanks around names mean nothing, those inside one and a semicolon belong to it."""
    return st.builds(lambda drawn, separator: separator.join(drawn), some(of), st.sampled_from([",", " , ", ";", " "]))


SWITCH = st.sampled_from(["true", "true", "TRUE", "false", "yes", ""])
addresses = st.sampled_from((CLIENT, *PROXIES))
FORWARDED = ([CLIENT], [CLIENT, "192.168.0.1"], ["192.168.0.1", CLIENT], [])
KEYS = {
    "super.users": names(USERS),
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
    definition = scenario["policies"]["serviceDef"]
    add_everywhere(scenario, {"groups": ["public"], "conditions": [{"type": "ip", "values": [CLIENT]}]})
    keys = {"use.x-forwarded-for.ipaddress": SWITCH, "trusted.proxy.ipaddresses": names(PROXIES)}
    scenario["conf"] = keys_of(definition, draw(st.fixed_dictionaries(keys)))
    ways = st.fixed_dictionaries(
        {"remoteIP": addresses, "forwarded": st.sampled_from(FORWARDED)}, optional={"clientIP": addresses}
    )
    everywhere(scenario, draw(st.lists(ways, min_size=7, max_size=7)))
    return scenario


@st.composite
def user_store_scenarios(draw: st.DrawFn) -> Json:
    """Groups that the user store knows and the request does not name."""
    scenario = draw(core_scenarios())
    definition = scenario["policies"]["serviceDef"]
    definition["contextEnrichers"] = [{"itemId": 1, "name": "users", "enricher": ENRICHER}]
    add_everywhere(scenario, {"groups": [draw(st.sampled_from(GROUPS))]})
    groups = draw(st.fixed_dictionaries({user: some(GROUPS) for user in USERS}))
    scenario["userStore"] = {"serviceName": "s", "userStoreVersion": 1, "userGroupMapping": groups}
    scenario["conf"] = keys_of(definition, {"use.rangerGroups": draw(SWITCH)})
    return scenario


def add_everywhere(scenario: Json, item: Json) -> None:
    """Let the item decide wherever a request may point, so that what is drawn makes a difference."""
    download = scenario["policies"]
    definition = download["serviceDef"]
    accesses = [{"type": access["name"]} for access in definition["accessTypes"]]
    everything = [{"resources": {name: {"values": ["*"]} for name in path}} for path in paths(definition)]
    policies = [{**resources, "policyItems": [{**item, "accesses": accesses}]} for resources in everything]
    download["policies"] += numbered(policies, first=500, names="everywhere")
