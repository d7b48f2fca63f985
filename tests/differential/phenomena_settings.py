"""What a service is configured to do: super users, who is never audited, audit modes, audit filters [6.3, 11]."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.differential.definitions import paths
from tests.differential.strategies import GROUPS, NAMES, ROLES, USERS, core_scenarios, everywhere, rarely, some

Json = dict[str, Any]

ACTIONS = ("query", "drop")


def comma_lists(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    return some((*names, "")).map(" , ".join)


@st.composite
def audit_filters(draw: st.DrawFn, definition: Json) -> Json:
    names = [access["name"] for access in definition["accessTypes"]]
    path = draw(st.sampled_from(paths(definition)))
    depth = draw(st.integers(1, len(path)))
    level = st.fixed_dictionaries({"values": some((*NAMES, "*", "a*"))}, optional={"isExcludes": rarely})
    optional: dict[str, st.SearchStrategy[Any]] = {
        "accessResult": st.sampled_from(["DENIED", "ALLOWED", "NOT_DETERMINED"]),
        "resources": st.fixed_dictionaries(dict.fromkeys(path[:depth], level)),
        "accessTypes": some((*names, "_any")),
        "actions": some(ACTIONS),
        "users": some((*USERS, "{USER}", "{OWNER}")),
        "groups": some((*GROUPS, "public")),
        "roles": some(ROLES),
        "isAudited": st.booleans(),
    }
    return draw(st.fixed_dictionaries({}, optional=optional))


@st.composite
def setting_scenarios(draw: st.DrawFn) -> Json:
    """Super users, people who are never audited, the audit mode, and audit filters."""
    scenario = draw(core_scenarios())
    policies = scenario["policies"]
    if draw(st.booleans()):
        policies["auditMode"] = draw(st.sampled_from(["audit-all", "audit-none", "audit-default", "other"]))
    keys: dict[str, st.SearchStrategy[str]] = {
        "ranger.plugin.super.users": comma_lists(USERS),
        "ranger.plugin.super.groups": comma_lists(GROUPS),
        "ranger.plugin.audit.exclude.users": comma_lists(USERS),
        "ranger.plugin.audit.exclude.groups": comma_lists(GROUPS),
        "ranger.plugin.audit.exclude.roles": comma_lists(ROLES),
        "ranger.plugin.audit.filters": st.lists(audit_filters(policies["serviceDef"]), max_size=3).map(json.dumps),
    }
    policies["serviceConfig"] = draw(st.fixed_dictionaries({}, optional=keys))
    if filters := policies["serviceConfig"].get("ranger.plugin.audit.filters"):
        policies["serviceConfig"]["ranger.plugin.audit.filters"] = filters.replace('"', draw(st.sampled_from("\"'")))
    extra = st.fixed_dictionaries({}, optional={"action": st.sampled_from(ACTIONS)})
    everywhere(scenario, draw(st.lists(extra, min_size=7, max_size=7)))
    if draw(rarely):
        for request in scenario["requests"][::4]:
            request["accessType"] = "_super_user"
    return scenario
