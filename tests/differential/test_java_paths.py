"""Levels of paths and URLs match as in Ranger: every kind of value, separator, option and scope (§5.1.2, §20)."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import pytest

from tests.differential.definitions import MATCHER_OPTIONS
from tests.differential.fuzz.die import Die
from tests.differential.fuzz.mixed_paths import (
    PATH,
    SEPARATORS,
    URL,
    path_names,
    policy_value,
    requested_value,
    separator_of,
)
from tests.differential.fuzz.mixed_requests import is_empty
from tests.differential.java_engine import JavaEngine
from tests.differential.our_engine import decide
from tests.fuzz.harness import INPUTS

pytestmark = pytest.mark.java

Json = dict[str, Any]

POLICIES, VALUES, AT_ONCE = 20, 10, 200
USERS = ("a", "b", "ab", "A", "a/b", "a/", "/a", "*", "a*", "?", "", "\U0001f600", "a.b", "x")
MORE_OPTIONS = (
    {"wildCard": "false", "ignoreCase": "false"},
    {"quotedCaseSensitive": "true"},
    {"tokenDelimiterEscape": "{"},
)


def scenario(number: int) -> Json:
    """One or two levels; each policy allows an access type of its own, so that every one is asked with every value."""
    die = Die(7, number)
    levels = [_level(die, n) for n in range(1 + die.chance(30))]
    names = {level["name"]: path_names(die, level, missed=()) for level in levels}
    policies = [
        {
            "id": n,
            "name": str(n),
            "resources": _resource(die, levels, names),
            **die.given(20, additionalResources=lambda: die.several(lambda: _resource(die, levels, names), 2, 1)),
            "policyItems": [{"groups": ["public"], "accesses": [{"type": f"t{n}"}]}],
        }
        for n in range(POLICIES)
    ]
    types = [{"itemId": n, "name": f"t{n}"} for n in range(POLICIES)]
    definition = {"id": 1, "name": "random", "resources": levels, "accessTypes": types}
    download = {"serviceName": "s", "policyVersion": 1, "serviceDef": definition, "policies": policies}
    requests = [
        {**asked, "accessType": f"t{n}"}
        for asked in (_asked(die, levels, names) for _ in range(VALUES))
        for n in range(POLICIES)
    ]
    return {"policies": download, "requests": requests}


def _level(die: Die, n: int) -> Json:
    options = die.one(MATCHER_OPTIONS + MORE_OPTIONS) | die.given(30, pathSeparatorChar=lambda: die.one(SEPARATORS))
    more = {"parent": "r0"} if n else {"isValidLeaf": True}
    matcher = die.one((PATH, PATH, URL))
    return {"itemId": n, "name": f"r{n}", "level": n, **more, "matcher": matcher, "matcherOptions": options}


def _resource(die: Die, levels: list[Json], names: dict[str, list[str]]) -> Json:
    def values(level: Json) -> list[str]:
        paths = [die.one(names[level["name"]]) for _ in range(die.one((1, 1, 1, 2, 3)))]
        return [*(policy_value(die, path, separator_of(level)) for path in paths), *[""] * die.chance(3)]

    return {
        level["name"]: {"values": values(level), "isRecursive": die.chance(70), "isExcludes": die.chance(6)}
        for level in levels[: die.between(1, len(levels))]
    }


def _asked(die: Die, levels: list[Json], names: dict[str, list[str]]) -> Json:
    def one(level: Json) -> str:
        return requested_value(die, die.one(names[level["name"]]), separator_of(level))

    def value(level: Json) -> str | list[str]:
        return die.one(([], [one(level), one(level)], ["*"], [""], "*", "")) if die.chance(12) else one(level)

    resource = {level["name"]: value(level) for level in levels[: die.between(1, len(levels))]}
    scopes = {
        name: die.one(("SELF", "SELF", "SELF_OR_PREFIX", "SELF" if is_empty(asked) else "SELF_OR_CHILD"))
        for name, asked in resource.items()
    }
    context = {"token:team": die.one(USERS), "token:a*": die.one(("a", "a/b"))}
    asked = {"resource": resource, "elementScopes": scopes, "context": context, "user": die.one(USERS), "accessTime": 1}
    return asked | die.given(20, matchingScope=lambda: "SELF_OR_DESCENDANTS")


def differences(java: JavaEngine, number: int, tally: Counter[str]) -> list[str]:
    asked = scenario(number)
    found = []
    for request, our, their in zip(asked["requests"], decide(asked), java.decide(asked), strict=True):
        assert "error" not in their, (number, request, their)
        tally.update(("asked", "allowed" if their["allowed"] else "denied"))
        if our["allowed"] is not their["allowed"]:
            policy = asked["policies"]["policies"][int(request["accessType"][1:])]
            levels = asked["policies"]["serviceDef"]["resources"]
            found.append(f"{number}: {their['allowed']} in Ranger: {levels} {policy} {request}")
    return found


def test_paths_and_urls_match_as_in_ranger(java: JavaEngine) -> None:
    tally, found = Counter[str](), list[str]()
    for number in range(max(1, INPUTS // AT_ONCE)):
        found += differences(java, number, tally)
    sys.stdout.write(f"{dict(tally)}, different: {len(found)}\n")
    assert not found, "\n".join(found[:20])
    assert min(tally["allowed"], tally["denied"]) > tally["asked"] // 20
