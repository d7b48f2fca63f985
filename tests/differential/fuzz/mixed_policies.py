"""Policies of a mixed scenario, of resources and of tags, with conditions, schedules and every kind of value."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from tests.differential.definitions import paths
from tests.differential.fuzz.die import Die
from tests.differential.fuzz.mixed_paths import policy_value, separators
from tests.differential.phenomena_conditions import FIELD_VALUES, MOMENTS, TIME_ZONES, wall_clock
from tests.differential.phenomena_tags import for_component
from tests.differential.strategies import MACROS, PATTERNS

Json = dict[str, Any]
Pools = dict[str, list[str]]

USERS = ("a", "b", "ab", "\U0001f600", "\u212a")
GROUPS = ("g", "h", "a")
ROLES = ("r", "s", "t")
TAG_TYPES = ("PII", "PI", "FINANCE")
SIDES = ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions")
ODD_VALUES = ("\\{USER}", "a\\b", "{", "{USER", "a b", "[a]", "a.b", " a", "{a\\}b}")
CONDITION_VALUES: dict[str, tuple[str, ...]] = {
    "ip": ("10.0.0.1", "10.0.0.*", "*", "fe80::*", "FE80::1"),
    "time-of-day": ("9am-5pm", "9:30 AM - 4:00 p.m.", "5pm-9am", "12:00pm-12:01pm", "soon"),
    "project-in": ("a", "b", ""),
    "project-not-in": ("a", "b", ""),
    "cluster": ("c1", "c2"),
    "not-cluster": ("c1", "c2"),
    "cluster-type": ("t1", "t2"),
    "not-cluster-type": ("t1", "t2"),
    "all-tags": ("PII", " PII ", "FINANCE"),
    "any-tag": ("PII", " PII ", "FINANCE"),
    "no-tag": ("PII", " PII ", "FINANCE"),
    "action": ("query", "que*", "*", "QUERY"),
}


class PolicyDrawer:
    """Draws policies for one definition, out of the names of its levels."""

    def __init__(self, die: Die, definition: Json, pools: Pools) -> None:
        self.die, self.definition, self.pools = die, definition, pools
        self.paths = paths(definition)
        accesses = [access["name"] for access in definition["accessTypes"]]
        markers = [access["name"] for access in definition.get("markerAccessTypes") or ()]
        self._accesses = [*accesses * 4, *markers, "bogus"]
        self._with_conditions, self._with_schedules = die.chance(55), die.chance(50)
        self._with_empty_values = die.chance(45)
        self.separators = separators(definition)

    # --- values and resources ---

    def value(self, name: str) -> str:
        """A name of the level, a pattern around one, a macro, or something odd."""
        die, pool = self.die, self.pools[name]
        if name in self.separators:
            return policy_value(die, die.one(pool), self.separators[name])
        kind = die.between(1, 20)
        if kind <= 8:
            return die.one(pool)
        if kind <= 12:
            return die.one(PATTERNS)
        if kind <= 17:
            whole = die.one(pool)
            shape = die.one(("{}*", "*{}", "{}?", "?{}", "{}??", "*{}*", "{}*?", "?*"))
            return shape.format(die.one((whole, whole[:1], whole[-1:])))
        return die.one(MACROS) if kind <= 19 else die.one(ODD_VALUES)

    def values(self, name: str) -> list[str]:
        if self._with_empty_values and self.die.chance(8):
            return self.die.one(([], [""], [self.value(name), ""]))
        if self.die.chance(30):
            return ["*"]
        return [self.value(name) for _ in range(self.die.between(1, 3))]

    def resources(self) -> Json:
        """A path from a root down to some level; now and then one that fits no hierarchy."""
        die = self.die
        path = die.one(self.paths)
        named = path[: die.between(1, min(3, len(path)))]
        oddity = die.between(0, 59)
        if oddity >= 58:
            named = [*path[:3], "unknown"]
        elif oddity == 57:
            named = named[1:]
        return {name: self._level(name) for name in named}

    def _level(self, name: str) -> Json:
        values = self.values(name) if name in self.pools else ["a"]
        chances = {"isExcludes": 6, "isRecursive": 60 if name in self.separators else 6}
        flags = {flag: True for flag, percent in chances.items() if self.die.chance(percent)}
        return {"values": values, **flags}

    # --- items ---

    def conditions(self) -> list[Json]:
        return [self._condition() for _ in range(self.die.between(1, 2))]

    def _condition(self) -> Json:
        kind = self.die.one([*CONDITION_VALUES, "validity"])
        if kind == "validity":
            return {"type": kind, "values": [json.dumps(self.schedule()) for _ in range(self.die.between(0, 2))]}
        return {"type": kind, "values": self.die.some(CONDITION_VALUES[kind])}

    def schedule(self) -> Json:
        die = self.die

        def time() -> str:
            return wall_clock(die.one(MOMENTS) + timedelta(seconds=die.one((-50_000, -3600, -1, 0, 1, 3600))))

        drawn: Json = {"startTime": die.one((time(), "")), "endTime": die.one((time(), "", ""))}
        if die.chance(40):
            drawn["timeZone"] = die.one(TIME_ZONES)
        if die.chance(30):
            fields = {field: die.one(values) for field, values in FIELD_VALUES.items()}
            lengths = {"days": die.between(0, 3), "hours": die.between(0, 30), "minutes": die.between(0, 70)}
            drawn["recurrences"] = [{"schedule": fields, "interval": lengths}]
        return drawn

    def item(self) -> Json:
        die = self.die
        accesses = [{"type": die.one(self._accesses)} for _ in range(die.between(1, 3))]
        for access in accesses:
            if die.chance(4):
                access["isAllowed"] = False
        drawn: Json = {"accesses": accesses}
        if die.chance(55):
            drawn["users"] = die.some((*USERS, "{USER}", "{OWNER}"), most=3, least=1)
        if die.chance(55):
            drawn["groups"] = die.some((*GROUPS, "public", "public"), most=2, least=1)
        if die.chance(25):
            drawn["roles"] = die.some(ROLES, most=1, least=1)
        if die.chance(15):
            drawn["delegateAdmin"] = True
        if self._with_conditions and die.chance(30):
            drawn["conditions"] = self.conditions()
        return drawn

    def items(self) -> list[Json]:
        return self.die.several(self.item, most=2, least=1)

    def policy(self) -> Json:
        """Without id and name."""
        die = self.die
        drawn: Json = {"resources": self.resources(), "policyItems": self.items()}
        chances = {"denyPolicyItems": 45, "allowExceptions": 20, "denyExceptions": 20}
        drawn |= {side: self.items() for side, percent in chances.items() if die.chance(percent)}
        drawn |= die.given(5, isDenyAllElse=lambda: True)
        drawn |= die.given(8, isEnabled=lambda: False)
        drawn |= die.given(25, isAuditEnabled=lambda: False)
        drawn |= die.given(35, policyPriority=lambda: die.one((0, 1, 1, -1, 7)))
        drawn |= die.given(4, policyType=lambda: 9)
        drawn |= die.given(12, additionalResources=lambda: die.several(self.resources, most=2))
        if self._with_conditions:
            drawn |= die.given(12, conditions=self.conditions)
        if self._with_schedules:
            drawn |= die.given(30, validitySchedules=lambda: [self.schedule()])
        return drawn

    def broad(self) -> Json:
        """A policy that decides nearly everywhere, so that a scenario has both allows and denials."""
        die = self.die
        path = die.one(self.paths)
        who = die.one(({"groups": ["public"]}, {"users": die.some(USERS, most=3, least=2)}, {"groups": ["g"]}))
        accesses = [{"type": access["name"]} for access in self.definition["accessTypes"]]
        side = die.one(("policyItems", "denyPolicyItems", "denyPolicyItems"))
        resources = {name: {"values": ["*"]} for name in path[: die.between(1, len(path))]}
        return {"resources": resources, side: [{**who, "accesses": accesses}]}

    def policies(self, most: int, least: int = 0) -> list[Json]:
        drawn = self.die.several(self.policy, most=most, least=least)
        return [*drawn, *self.die.several(self.broad, most=3)]

    # --- tags ---

    def tag_policy(self) -> Json:
        """Of the tag service: its access types carry the name of the component, here and there of another or none."""
        die = self.die
        drawn = self.policy()
        drawn.pop("additionalResources", None)
        level: Json = {"values": die.some((*TAG_TYPES, "P*", "*"), most=2, least=1)}
        drawn["resources"] = {"tag": {**level, **die.given(6, isExcludes=lambda: True)}}
        drawn |= die.given(20, zoneName=lambda: "z")
        if die.chance(10):
            drawn |= {"isDenyAllElse": True, "isAuditEnabled": False}
            for item in drawn["policyItems"]:
                item["accesses"] = [{"type": "bogus"}]
        return for_component(drawn, self.definition["name"])


def numbered(policies: list[Json], first: int, names: str) -> list[Json]:
    """Ids from `first` on, in no relation to the names, so that no order can be mistaken for another."""
    return [{"id": first + n, "version": n, "name": f"{names} {(n * 7) % 10}", **p} for n, p in enumerate(policies)]
