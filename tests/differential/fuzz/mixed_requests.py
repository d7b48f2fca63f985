"""Requests of a mixed scenario: every resource x every person x every question, under changing circumstances."""

from __future__ import annotations

from itertools import product
from typing import Any

from tests.differential.definitions import paths
from tests.differential.fuzz.die import Die
from tests.differential.fuzz.mixed_paths import requested_value, separators
from tests.differential.fuzz.mixed_policies import GROUPS, ROLES, TAG_TYPES, USERS, Pools
from tests.differential.phenomena_conditions import MOMENTS, epoch_ms

Json = dict[str, Any]

RESOURCES, PEOPLE, QUESTIONS = 4, 3, 2
ODD_VALUES = ("*", "", "a\\b", "{USER}", "{NOBODY}", "a b", "[a]", "a.b", " a", "{a}b}")
MATCH_TYPES = ("SELF", "ANCESTOR", "DESCENDANT", "SELF_AND_ALL_DESCENDANTS")
SCOPES = ("SELF", "SELF_OR_PREFIX", "SELF_OR_PREFIX", "SELF_OR_CHILD", "SELF_OR_CHILD")


class RequestDrawer:
    """Draws requests for one definition, out of the names of its levels."""

    def __init__(self, die: Die, definition: Json, pools: Pools, *, everything: bool) -> None:
        self.die, self.pools, self._everything = die, pools, everything
        self._paths = paths(definition)
        self._accesses = [access["name"] for access in definition["accessTypes"]]
        self._separators = separators(definition)
        self._element_scopes, self._tags = die.chance(40), die.chance(50)

    def requests(self) -> list[Json]:
        die = self.die
        resources = [self._resource() for _ in range(RESOURCES)]
        people = [self._person() for _ in range(PEOPLE)]
        questions = [self._question() for _ in range(QUESTIONS)]
        drawn: list[Json] = []
        for n, (resource, person, question) in enumerate(product(resources, people, questions)):
            more = self._circumstances(resource) if die.chance(60) else {"accessTime": epoch_ms(die.one(MOMENTS))}
            context: Json = person.get("context", {}) | more.get("context", {})
            request = {"id": n, "resource": resource, **person, **question, **more}
            drawn.append({**request, "context": context} if context else request)
        return drawn

    def _resource(self) -> Json:
        die = self.die
        path = die.one(self._paths)
        least = 0 if die.chance(12) else 1
        named = path[: die.between(least, min(3, len(path)))]
        oddity = die.between(0, 39)
        if oddity == 39:
            named = [*named, "unknown"]
        elif oddity == 38:
            named = named[1:]
        return {name: self._value(name) for name in named}

    def _value(self, name: str) -> str | list[str]:
        die, pool = self.die, self.pools.get(name, ["a"])
        if die.chance(6):
            return die.one(([], [""], ["*"], die.some(pool, most=3, least=1), die.some(pool, most=3, least=1)))
        if die.chance(12):
            return die.one(ODD_VALUES)
        if name in self._separators:
            return requested_value(die, die.one(pool), self._separators[name])
        if self._element_scopes and die.chance(25):
            return die.one(pool)[:1]
        return die.one(pool)

    def _person(self) -> Json:
        die = self.die
        person: Json = {"user": die.one((*USERS, *USERS, None))}
        person |= die.given(60, groups=lambda: die.some((*GROUPS, "public"), least=1))
        person |= die.given(20, roles=lambda: die.some(ROLES))
        person |= die.given(40, resourceOwner=lambda: die.one((*USERS, "", None)))
        if die.chance(25):
            person["context"] = die.given(60, **{"token:team": lambda: die.one(("a", "s")), "token:USER": lambda: "b"})
        return person

    def _question(self) -> Json:
        """An access type; `_any`, `_admin`; below the resource; several access types, in groups or not."""
        die = self.die
        kind = die.between(1, 13)
        names = self._accesses
        if kind <= 6:
            asked: Json = {"accessType": die.one(names)}
        elif kind <= 8:
            asked = {"accessType": die.one(("_any", "_any", None, ""))}
        elif kind == 9:
            asked = {"accessType": die.one(("_admin", "bogus"))}
        elif kind == 10:
            asked = {
                "accessType": die.one(("_any", "_any", "_admin")),
                "allAccessTypes": die.some(names, most=3, least=1),
            }
        elif kind == 11:
            asked = {"accessType": "_super_user"}
        else:
            asked = {"accessType": die.one(names), "allAccessTypes": die.some(names, most=3, least=1)}
            if self._everything:
                asked["allAccessTypes"].append("_admin")
            if kind == 13:
                several = asked["allAccessTypes"]
                groups = [sorted(die.some(several, most=2, least=1)) for _ in range(die.between(1, 3))]
                asked["allAccessTypeGroups"] = [list(group) for group in dict.fromkeys(map(tuple, groups))]
        asked |= die.given(30, matchingScope=lambda: "SELF_OR_DESCENDANTS")
        return asked | die.given(30, ignoreDescendantDeny=lambda: die.chance(50))

    def _circumstances(self, resource: Json) -> Json:
        die = self.die
        drawn: Json = {"accessTime": epoch_ms(die.one(MOMENTS))}
        drawn |= die.given(
            30,
            clientIP=lambda: die.one(("10.0.0.1", "10.0.1.2", "192.168.0.1", "fe80::1", "FE80::1")),
            remoteIP=lambda: die.one(("10.0.0.1", "192.168.0.1")),
            forwarded=lambda: die.one((["10.0.0.1"], ["10.0.0.1", "192.168.0.1"], [])),
            clusterName=lambda: die.one(("c1", "c3")),
            clusterType=lambda: die.one(("t1", "t3")),
            action=lambda: die.one(("query", "que", "drop", "")),
            context=lambda: die.given(70, project=lambda: die.one(("a", "c", ""))),
        )
        if self._element_scopes and die.chance(60):
            names = [name for path in self._paths for name in path]
            drawn["elementScopes"] = {
                name: "SELF" if not self._everything and is_empty(resource.get(name, "")) else die.one(SCOPES)
                for name in die.some(names, most=3, least=1)
            }
        if self._tags and die.chance(50):
            drawn["tags"] = [self._tag(kind) for kind in die.some(TAG_TYPES, least=1)]
        return drawn

    def _tag(self, kind: str) -> Json:
        return {"type": kind, **self.die.given(40, matchType=lambda: self.die.one(MATCH_TYPES))}


def is_empty(value: str | list[str]) -> bool:
    """Whether Java fails when asked for the children of a value."""
    return not value or "" in ([value] if isinstance(value, str) else value)
