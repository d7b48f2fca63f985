"""Scenarios about one phenomenon each, added to a core scenario: Java alone is the judge of them.

Left out, because Java itself gives no one answer: `_any` where several zones match (the order of a hash set), and
moments within hours of a change to or from summer time (reference/ranger/policy-engine.md 10, 13, 22).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import Any

from definitions import paths
from hypothesis import strategies as st
from strategies import (
    GROUPS,
    NAMES,
    ROLES,
    USERS,
    core_policies,
    core_scenarios,
    numbered,
    rarely,
    request_resources,
    some,
)

Json = dict[str, Any]
Scenarios = st.SearchStrategy[Json]

TAG_TYPES = ("PII", "PI", "FINANCE", "P*")


def everywhere(scenario: Json, fields: list[Json]) -> None:
    """Give each request one of the drawn extra fields, in turn."""
    for request, more in zip(scenario["requests"], cycle(fields), strict=False):
        context = {**request.get("context", {}), **more.get("context", {})}
        request.update(more)
        if context:
            request["context"] = context


# --- conditions [8] -----------------------------------------------------------------------------------------------

MOMENTS = [
    datetime(2024, month, day, hour, minute, second, tzinfo=UTC)
    for month, day in ((1, 1), (1, 31), (2, 28), (2, 29), (3, 1), (6, 15), (6, 30), (12, 31))
    for hour, minute, second in ((0, 0, 0), (9, 0, 0), (9, 30, 30), (12, 0, 1), (17, 0, 0), (23, 59, 59))
]
moments = st.sampled_from(MOMENTS)


def epoch_ms(moment: datetime) -> int:
    return int(moment.timestamp()) * 1000


def wall_clock(moment: datetime) -> str:
    return moment.strftime("%Y/%m/%d %H:%M:%S")


schedule_times = st.one_of(
    st.builds(lambda moment, seconds: wall_clock(moment + timedelta(seconds=seconds)), moments, st.integers(-1, 1)),
    st.builds(lambda moment, hours: wall_clock(moment + timedelta(hours=hours)), moments, st.integers(-14, 14)),
    st.sampled_from(["", "garbage"]),
)
FIELD_VALUES = {
    "minute": ("*", "0", "0,30", "15-45", "59", ""),
    "hour": ("*", "0", "9", "9-17", "0,12,23"),
    "dayOfMonth": ("*", "", "1", "15,30", "28-31", "31"),
    "dayOfWeek": ("*", "", "1", "2-6", "7,1"),
    "month": ("*", "1", "2,12", "6-9"),
    "year": ("*", "2024", "2023", "2023-2025"),
}
recurrences = st.fixed_dictionaries(
    {
        "schedule": st.fixed_dictionaries({field: st.sampled_from(values) for field, values in FIELD_VALUES.items()}),
        "interval": st.fixed_dictionaries(
            {}, optional={"days": st.integers(0, 3), "hours": st.integers(0, 30), "minutes": st.integers(0, 70)}
        ),
    }
)
TIME_ZONES = ("", "UTC", "Asia/Tokyo", "America/New_York", "Asia/Kolkata", "Nowhere/Land")
schedules = st.fixed_dictionaries(
    {"startTime": schedule_times, "endTime": schedule_times},
    optional={
        "timeZone": st.sampled_from(TIME_ZONES),
        "recurrences": st.lists(recurrences, max_size=2),
    },
)

CONDITION_VALUES: dict[str, st.SearchStrategy[list[str]]] = {
    "ip": some(("10.0.0.1", "10.0.0.*", "10.*.*", "10.0.*.*", "*", "fe80::*", "FE80::1", "*.*", "10.*", ".*")),
    "time-of-day": some(("9am-5pm", "9:30 AM - 4:00 p.m.", "5pm-9am", "12:00pm-12:01pm", "12am-1am", "soon", "17-18")),
    "project-in": some(("a", "b", "")),
    "project-not-in": some(("a", "b", "")),
    "cluster": some(("c1", "c2")),
    "not-cluster": some(("c1", "c2")),
    "cluster-type": some(("t1", "t2")),
    "not-cluster-type": some(("t1", "t2")),
    "all-tags": some(("PII", " PII ", "FINANCE")),
    "any-tag": some(("PII", " PII ", "FINANCE")),
    "no-tag": some(("PII", " PII ", "FINANCE")),
    "action": some(("query", "que*", "*", "QUERY")),
    "validity": st.lists(st.one_of(schedules.map(json.dumps), st.just("{")), max_size=2),
}
conditions = st.one_of(
    *(st.fixed_dictionaries({"type": st.just(name), "values": values}) for name, values in CONDITION_VALUES.items())
)
condition_lists = st.lists(conditions, min_size=1, max_size=2)
circumstances = st.fixed_dictionaries(
    {"accessTime": moments.map(epoch_ms)},
    optional={
        "clientIP": st.sampled_from(["10.0.0.1", "10.0.1.2", "192.168.0.1", "fe80::1", "FE80::1", "10"]),
        "remoteIP": st.sampled_from(["10.0.0.1", "192.168.0.1"]),
        "forwarded": st.just(["10.0.0.1"]),
        "clusterName": st.sampled_from(["c1", "c3"]),
        "clusterType": st.sampled_from(["t1", "t3"]),
        "action": st.sampled_from(["query", "que", "drop", ""]),
        "tags": st.lists(st.fixed_dictionaries({"type": st.sampled_from(TAG_TYPES)}), max_size=2, unique_by=str),
        "context": st.fixed_dictionaries({}, optional={"project": st.sampled_from(["a", "c", ""])}),
    },
)


@st.composite
def condition_scenarios(draw: st.DrawFn) -> Json:
    """Conditions of every kind, of a policy and of each of its items."""
    scenario = draw(core_scenarios())
    for policy in scenario["policies"]["policies"]:
        if draw(rarely):
            policy["conditions"] = draw(condition_lists)
        for side in ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions"):
            for item in policy.get(side, ()):
                if draw(st.booleans()):
                    item["conditions"] = draw(condition_lists)
    everywhere(scenario, draw(st.lists(circumstances, min_size=7, max_size=7)))
    return scenario


@st.composite
def schedule_scenarios(draw: st.DrawFn) -> Json:
    """Policies that are in force at some times only."""
    scenario = draw(core_scenarios())
    for policy in scenario["policies"]["policies"]:
        policy["validitySchedules"] = draw(st.lists(schedules, max_size=2))
    times = draw(st.lists(moments, min_size=7, max_size=7))
    everywhere(scenario, [{"accessTime": epoch_ms(moment)} for moment in times])
    return scenario


# --- settings of a service [6.3, 11] ------------------------------------------------------------------------------

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


# --- element scopes [5.1] -----------------------------------------------------------------------------------------


@st.composite
def element_scope_scenarios(draw: st.DrawFn) -> Json:
    """Levels of the request that may also be the beginning of what a policy names."""
    scenario = draw(core_scenarios())
    names = [resource["name"] for resource in scenario["policies"]["serviceDef"]["resources"]]
    scopes = st.dictionaries(st.sampled_from(names), st.sampled_from(["SELF", "SELF_OR_PREFIX"]), max_size=3)
    everywhere(scenario, draw(st.lists(scopes.map(lambda drawn: {"elementScopes": drawn}), min_size=7, max_size=7)))
    return scenario


# --- security zones [13] ------------------------------------------------------------------------------------------


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


# --- tags [14] ----------------------------------------------------------------------------------------------------

ENRICHER = "org.apache.ranger.plugin.contextenricher.RangerTagEnricher"


def tag_definition(component: Json, *, with_enricher: bool) -> Json:
    """The tag service-def: its access types are those of all components, each with the component's name."""
    prefix = component["name"] + ":"
    access_types = [
        {
            **access,
            "name": prefix + access["name"],
            "impliedGrants": [prefix + each for each in access["impliedGrants"]],
        }
        for access in ({"impliedGrants": [], **access} for access in component["accessTypes"])
    ]
    level = {"itemId": 1, "name": "tag", "level": 1, "parent": "", "isValidLeaf": True}
    return {
        "id": 100,
        "name": "tag",
        "resources": [{**level, "matcherOptions": {"wildCard": "true", "ignoreCase": "false"}}],
        "accessTypes": [*access_types, {"itemId": 99, "name": "other:read", "impliedGrants": []}],
        "contextEnrichers": [{"itemId": 1, "name": "tags", "enricher": ENRICHER}] if with_enricher else [],
        "policyConditions": component["policyConditions"],
    }


def for_component(policy: Json, component: str) -> Json:
    """The access types of a tag policy carry the name of the component, here and there that of another or none."""
    for side in ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions"):
        for item in policy.get(side, ()):
            for access in item["accesses"]:
                prefix = "other:" if access["type"] == "bogus" else f"{component}:"
                access["type"] = prefix + access["type"]
    return policy


tag_values = st.lists(st.sampled_from(TAG_TYPES), min_size=1, max_size=2)
tag_levels = st.fixed_dictionaries({"values": tag_values}, optional={"isExcludes": rarely})


@st.composite
def tag_policies(draw: st.DrawFn, component: Json) -> Json:
    policy = draw(core_policies(component))
    policy.pop("additionalResources", None)
    policy["resources"] = {"tag": draw(tag_levels)}
    if draw(rarely):
        policy["zoneName"] = "z"
    return for_component(policy, component["name"])


tag_validity = st.lists(schedules, max_size=1)


@st.composite
def service_tags(draw: st.DrawFn, definition: Json) -> Json:
    """Which resources carry which tags."""
    kinds = st.fixed_dictionaries({"type": st.sampled_from(TAG_TYPES[:3])}, optional={"validityPeriods": tag_validity})
    tags = {str(n): {"id": n, **tag} for n, tag in enumerate(draw(st.lists(kinds, min_size=1, max_size=3)), 1)}
    tagged: list[Json] = []
    for n in range(1, draw(st.integers(1, 4)) + 1):
        elements = draw(zone_resources(definition))
        tagged.append({"id": n, "resourceElements": {name: {"values": values} for name, values in elements.items()}})
    ids = st.lists(st.sampled_from(sorted(tags)).map(int), min_size=1, max_size=2, unique=True)
    carried = {str(resource["id"]): draw(ids) for resource in tagged}
    return {
        "op": "add_or_update",
        "serviceName": "s",
        "tagVersion": 1,
        "tags": tags,
        "serviceResources": tagged,
        "resourceToTagIds": carried,
    }


def of_one_priority(download: Json, priority: int) -> None:
    """Let all resource policies weigh the same.

    After a tag's allow Java takes the decision for made as soon as a resource policy without denies has been a
    candidate, whether or not it matches; a deny of a lower priority is then lost. This project denies.
    """
    for policies in [download["policies"], *(zone["policies"] for zone in download.get("securityZones", {}).values())]:
        for policy in policies:
            policy["policyPriority"] = priority


@st.composite
def tag_scenarios(draw: st.DrawFn, scenarios: Callable[[], Scenarios] = core_scenarios) -> Json:
    """Tag policies, with tags from the tag download or given in the request."""
    scenario = draw(scenarios())
    definition = scenario["policies"]["serviceDef"]
    downloaded = draw(st.booleans())
    policies = numbered(draw(st.lists(tag_policies(definition), max_size=5)), first=1000, names="tag policy")
    if draw(st.booleans()):
        for policy in policies:
            policy["policyItems"] = []
    else:
        of_one_priority(scenario["policies"], draw(st.sampled_from([0, 1, -1])))
    scenario["policies"]["tagPolicies"] = {
        "serviceName": "tags",
        "policyVersion": 1,
        "serviceDef": tag_definition(definition, with_enricher=downloaded),
        "policies": policies,
    }
    times = draw(st.lists(moments, min_size=7, max_size=7))
    everywhere(scenario, [{"accessTime": epoch_ms(moment)} for moment in times])
    if downloaded:
        scenario["tags"] = draw(service_tags(definition))
    else:
        kinds = st.fixed_dictionaries(
            {"type": st.sampled_from(TAG_TYPES[:3])},
            optional={"matchType": st.sampled_from(["SELF", "ANCESTOR", "DESCENDANT", "SELF_AND_ALL_DESCENDANTS"])},
        )
        several = st.lists(kinds, max_size=2, unique_by=lambda tag: tag["type"])
        everywhere(scenario, [{"tags": tags} for tags in draw(st.lists(several, min_size=7, max_size=7))])
    return scenario


def tag_and_zone_scenarios() -> Scenarios:
    return tag_scenarios(zone_scenarios)


# --- deltas [17] --------------------------------------------------------------------------------------------------


CREATE, UPDATE, DELETE = 0, 1, 2


@st.composite
def delta_scenarios(draw: st.DrawFn) -> Json:
    """Policies created, changed and deleted after the load; the requests come after that.

    Left out, because Java then forgets what it would do after a full load: creating an id that is there, values `[]` in
    a delta, and the order of policies for the empty resource.
    """
    scenario = draw(core_scenarios())
    policies = scenario["policies"]
    definition = policies["serviceDef"]
    ids = {policy["id"] for policy in policies["policies"]}
    deltas: list[Json] = []
    for n, policy in enumerate(draw(st.lists(core_policies(definition), min_size=1, max_size=5)), 2):
        for levels_of_one in [policy["resources"], *policy.get("additionalResources", ())]:
            for level in levels_of_one.values():
                level["values"] = [value for value in level["values"] if value] or ["*"]
        policy_id = draw(st.integers(1, 10))
        change = draw(st.sampled_from([UPDATE, DELETE] if policy_id in ids else [CREATE, UPDATE, DELETE]))
        ids = ids - {policy_id} if change == DELETE else ids | {policy_id}
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


# --- who can [16] -------------------------------------------------------------------------------------------------


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


PHENOMENA: dict[str, Callable[[], Scenarios]] = {
    "core": core_scenarios,
    "conditions": condition_scenarios,
    "schedules": schedule_scenarios,
    "settings": setting_scenarios,
    "element scopes": element_scope_scenarios,
    "zones": zone_scenarios,
    "tags": tag_scenarios,
    "tags and zones": tag_and_zone_scenarios,
    "deltas": delta_scenarios,
}
