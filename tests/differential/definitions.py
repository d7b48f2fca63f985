"""Service definitions to draw from: CDAP's own, and small random trees with every matcher option."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

CATEGORIES = {"read": "READ", "write": "UPDATE", "admin": "MANAGE", "execute": "MANAGE", "create": "CREATE"}
ACCESS_TYPES = tuple(CATEGORIES)
CONDITION_PACKAGE = "org.apache.ranger.plugin.conditionevaluator."

# Each kind of condition that Ranger brings along and that needs no script engine: name, class, options.
CONDITIONS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("ip", "RangerIpMatcher", {}),
    ("time-of-day", "RangerTimeOfDayMatcher", {}),
    ("project-in", "RangerContextAttributeValueInCondition", {"attributeName": "project"}),
    ("project-not-in", "RangerContextAttributeValueNotInCondition", {"attributeName": "project"}),
    ("cluster", "RangerAccessedFromClusterCondition", {}),
    ("not-cluster", "RangerAccessedNotFromClusterCondition", {}),
    ("cluster-type", "RangerAccessedFromClusterTypeCondition", {}),
    ("not-cluster-type", "RangerAccessedNotFromClusterTypeCondition", {}),
    ("all-tags", "RangerTagsAllPresentConditionEvaluator", {}),
    ("any-tag", "RangerAnyOfExpectedTagsPresentConditionEvaluator", {}),
    ("no-tag", "RangerNoneOfExpectedTagsPresentConditionEvaluator", {}),
    ("action", "RangerActionMatcher", {}),
    ("validity", "RangerValidityScheduleConditionEvaluator", {}),
)
CONDITION_DEFS = [
    {"itemId": n, "name": name, "evaluator": CONDITION_PACKAGE + evaluator, "evaluatorOptions": options}
    for n, (name, evaluator, options) in enumerate(CONDITIONS, 1)
]


@cache
def _cdap_text() -> str:
    return resources.files("servicedef").joinpath("ranger-servicedef-cdap.json").read_text(encoding="utf-8")


def cdap_definition() -> Json:
    definition: Json = json.loads(_cdap_text())
    definition["policyConditions"] = CONDITION_DEFS
    definition["markerAccessTypes"] = markers(definition["accessTypes"])
    return definition


def markers(access_types: list[Json]) -> list[Json]:
    """What Ranger Admin adds to a definition: `_ALL`, and a marker for each category that is used."""
    closure = {access["name"]: {access["name"], *access.get("impliedGrants", ())} for access in access_types}
    members: dict[str, set[str]] = {"_ALL": set().union(*closure.values())}
    for access in access_types:
        members.setdefault(f"_{access['category']}", set()).update(closure[access["name"]])
    return [
        {"itemId": n, "name": name, "impliedGrants": sorted(implied)}
        for n, (name, implied) in enumerate(members.items(), 90)
    ]


def paths(definition: Json) -> list[list[str]]:
    """Each way from a root down to a resource without children."""
    parent_of = {d["name"]: d.get("parent") for d in definition["resources"]}

    def upwards(name: str) -> list[str]:
        above = parent_of[name]
        return [*(upwards(above) if above else ()), name]

    return [upwards(name) for name in parent_of if name not in parent_of.values()]


MATCHER_OPTIONS = (
    {"wildCard": "true", "ignoreCase": "false"},
    {},
    {"wildCard": "true", "ignoreCase": "true"},
    {"wildCard": "false"},
    {"wildCard": True, "ignoreCase": False, "replaceTokens": "false"},
)


@st.composite
def random_definitions(draw: st.DrawFn) -> Json:
    """A forest of up to five resources, and two to five access types that imply one another."""
    definition_resources: list[Json] = []
    for n in range(draw(st.integers(1, 5))):
        above = draw(st.sampled_from([None, *definition_resources, *definition_resources[-1:] * 2]))
        definition_resources.append(
            {
                "itemId": n + 1,
                "name": f"r{n}",
                "level": (above["level"] if above else 0) + 10,
                "parent": above["name"] if above else "",
                "isValidLeaf": draw(st.sampled_from([None, True, True])),
                "matcher": "org.apache.ranger.plugin.resourcematcher.RangerDefaultResourceMatcher",
                "matcherOptions": draw(st.sampled_from(MATCHER_OPTIONS)),
            }
        )
    if draw(st.integers(0, 19)) == 19:
        definition_resources[-1]["isValidLeaf"] = False  # the last one has no children: no policy ever matches
    definition: Json = {
        "id": 1,
        "name": "random",
        "resources": definition_resources,
        "accessTypes": draw(access_type_lists()),
        "policyConditions": CONDITION_DEFS,
        "options": draw(st.sampled_from([{}, {}, {"enableDenyAndExceptionsInPolicies": "false"}])),
    }
    if draw(st.booleans()):
        definition["markerAccessTypes"] = markers(definition["accessTypes"])
    return definition


@st.composite
def access_type_lists(draw: st.DrawFn) -> list[Json]:
    """Each implies some of those before it, and says so in full: then Java's order of walking them is no matter."""
    names = draw(st.lists(st.sampled_from(ACCESS_TYPES), min_size=2, max_size=5, unique=True))
    closure: dict[str, set[str]] = {}
    for n, name in enumerate(names):
        direct = draw(st.sets(st.sampled_from(names[:n]), max_size=2)) if n else set()
        closure[name] = direct.union(*(closure[each] for each in direct))
    return [
        {"itemId": n, "name": name, "category": CATEGORIES[name], "impliedGrants": sorted(closure[name])}
        for n, name in enumerate(names, 1)
    ]


def definitions() -> st.SearchStrategy[Json]:
    return st.one_of(st.builds(cdap_definition), random_definitions())
