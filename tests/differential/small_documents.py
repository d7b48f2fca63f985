"""Small policies, tags, zones and deltas, of which the cases of differences are put together."""

from __future__ import annotations

from typing import Any

from tests.differential.phenomena_tags import tag_definition
from tests.differential.strategies import numbered

Json = dict[str, Any]

NOW = 1_700_000_000_000
PACKAGE = "org.apache.ranger.plugin.conditionevaluator."
DEFINITION: Json = {
    "name": "t",
    "resources": [
        {"name": "r0", "level": 10, "isValidLeaf": True},
        {"name": "r1", "level": 20, "parent": "r0", "isValidLeaf": True},
        {"name": "r2", "level": 30, "parent": "r1"},
    ],
    "accessTypes": [{"name": "read"}, {"name": "write"}],
    "policyConditions": [
        {"name": "ip", "evaluator": PACKAGE + "RangerIpMatcher"},
        {"name": "together", "evaluator": PACKAGE + "RangerHiveResourcesAccessedTogetherCondition"},
        {"name": "not-together", "evaluator": PACKAGE + "RangerHiveResourcesNotAccessedTogetherCondition"},
        {"name": "script", "evaluator": PACKAGE + "RangerScriptConditionEvaluator"},
        {
            "name": "expired",
            "evaluator": PACKAGE + "RangerScriptTemplateConditionEvaluator",
            "evaluatorOptions": {"scriptTemplate": "ctx.isAccessedAfter('date');"},
        },
    ],
}
TAG_DEFINITION = tag_definition(DEFINITION, with_enricher=True)
LONG = "a" * 8_193
ASKED: Json = {"resource": {"r0": "a"}, "user": "alice", "accessType": "read", "accessTime": NOW}


def on(**levels: list[Any]) -> Json:
    return {name: {"values": values} for name, values in levels.items()}


def item(access: str = "read", **more: Any) -> Json:
    return {"groups": ["public"], "accesses": [{"type": access}], **more}


def policy(resources: Json, allow: list[Json], deny: list[Json] | None = None, **more: Any) -> Json:
    return {"resources": resources, "policyItems": allow, "denyPolicyItems": deny or [], **more}


A = on(r0=["a"])
OPEN = policy(A, [item()])


def closed(resources: Json = A, **more: Any) -> Json:
    return policy(resources, [], [item()], **more)


def tagged(*policies: Json, resource: Json = A, tag: Json | None = None) -> Json:
    kept = numbered(list(policies), first=50, names="tag policy")
    return {
        "tagPolicies": {"serviceName": "tags", "policyVersion": 1, "serviceDef": TAG_DEFINITION, "policies": kept},
        "tags": {
            "serviceName": "s",
            "tagVersion": 1,
            "op": "add_or_update",
            "tags": {"1": {"id": 1, "type": "T", **(tag or {})}},
            "serviceResources": [{"id": 7, "resourceElements": resource}],
            "resourceToTagIds": {"7": [1]},
        },
    }


T = on(tag=["T"])
TAG_OPENS = policy(T, [item("t:read")])
TAG_CLOSES = policy(T, [], [item("t:read")])
SCRIPT = [{"type": "script", "values": ["false"]}]


def expired(*values: str) -> Json:
    return item("t:read", conditions=[{"type": "expired", "values": list(values)}])


def dated(date: str) -> Json:
    return {"attributes": {"date": date}}


UNHEARD_OF = [{"type": "unheard-of", "values": ["x"]}]
TOGETHER = [{"type": "together", "values": ["d.t.c", "d.t.e"]}]
NOT_TOGETHER = [{"type": "not-together", "values": ["d.t.c", "d.t.e"]}]
AT_HOME = [{"type": "ip", "values": ["10.0.0.1"]}]
LATER = [{"startTime": "later"}]
NO_NUMBER = [{"recurrences": [{"schedule": {"minute": "0", "hour": "noon"}, "interval": {"hours": 1}}]}]
TWO_GROUPS = {**ASKED, "allAccessTypes": ["read", "write"], "allAccessTypeGroups": [["read"], ["write"]]}
BY_TWO_PRIORITIES = [
    policy(A, [item()], policyPriority=1),
    policy(A, [item("write")], [item("write", groups=["nobody"])]),
    policy(A, [], [item("write")]),
]
UNTIMED = {key: value for key, value in ASKED.items() if key != "accessTime"}
LOST_TAG = {**tagged(TAG_CLOSES), "tags": {**tagged()["tags"], "tags": {}}}
OPTION: Json = {**DEFINITION, "options": {"enableDenyAndExceptionsInPolicies": "perhaps"}}


def zone(**resource: list[str]) -> Json:
    return {"securityZones": {"z": {"zoneName": "z", "resources": [resource], "policies": []}}}


def changed(kind: int, new: Json) -> Json:
    fields = {"id": 1, "version": 2, "name": "changed", "serviceType": "t", "policyType": 0}
    delta = {"changeType": kind, "policiesVersion": 2, "policy": {**fields, **new}}
    return {"deltas": {"serviceName": "s", "policyVersion": 2, "serviceDef": DEFINITION, "policyDeltas": [delta]}}


def defined(given: Json, **more: Any) -> Json:
    """A download with tags, whose tag service is defined otherwise."""
    definition = {**TAG_DEFINITION, **more}
    return {**given, "tagPolicies": {**given["tagPolicies"], "serviceDef": definition}}


def without_enricher(given: Json) -> Json:
    return defined(given, contextEnrichers=[])


def by_cluster(sign: str) -> Json:
    kind = {"name": "cluster", "evaluator": f"{PACKAGE}RangerAccessed{sign}FromClusterCondition"}
    allowing = policy(T, [item("t:read", conditions=[{"type": "cluster", "values": ["c1"]}])])
    return defined(tagged(allowing), policyConditions=[kind])


OF_ANOTHER = {**policy(T, [item("other:read")], isAuditEnabled=False), "id": 60}
"""A policy of the tag service that Ranger drops, because no item is about this component."""

OF_TAGS = {**TAG_CLOSES, "id": 50, "serviceType": "tag"}


def first_of_tags() -> Json:
    delta = changed(0, OF_TAGS)["deltas"]
    return {"deltas": {**delta, "tagPolicies": {**tagged()["tagPolicies"], "policyVersion": 2}}}


def last_of_tags() -> Json:
    deltas = first_of_tags()["deltas"]
    (delta,) = deltas["policyDeltas"]
    return {"deltas": {**deltas, "policyDeltas": [{**delta, "changeType": 2}]}}
