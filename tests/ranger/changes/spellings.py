"""Policies in the many spellings that Ranger Admin takes for one, drawn from numbers."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

Json = dict[str, Any]

ACCESS_TYPES = ("read", "write", "admin", "execute")
MARKERS = ("_READ", "_ALL")
PATHS = (("instance",), ("instance", "namespace"), ("instance", "namespace", "dataset"))
NAMES = ("eve", "Eve", "bob", "eve bob", "{USER}", "eve\xa0", "\u2003eve", "o'brien", "ö")
AROUND = ("", "", "", " ", "\t", "\n", "\x1f", "  ")
VALUES = ("kv", "KV", "a*", "x1", "kv2")
BLANK = ("", " ", "\u2003", "\t ")
LABELS = ("b", "a", "Z", "", "ä")
TIMES = ("1", "10", "2", "3")


def any_case(random: Random, word: str) -> str:
    return "".join(random.choice((c.lower(), c.upper())) for c in word) if random.random() < 0.5 else word


def some(random: Random, words: Any, most: int = 3) -> list[str]:
    return [random.choice(words) for _ in range(random.randrange(most + 1))]


def names(random: Random, known: Sequence[str]) -> list[str]:
    return [random.choice(AROUND) + name + random.choice(AROUND) for name in some(random, known)]


def item(random: Random, known: Sequence[str]) -> Json:
    accesses = [{"type": any_case(random, name)} for name in some(random, (*ACCESS_TYPES, *MARKERS), 4)]
    for access in accesses:
        if random.random() < 0.2:
            access["isAllowed"] = random.choice((True, None))
    found: Json = {"users": names(random, known) or [known[0]], "accesses": accesses, "delegateAdmin": not accesses}
    for kind in ("groups", "roles"):
        if random.random() < 0.4:
            found[kind] = names(random, known)
    if random.random() < 0.2:
        found["conditions"] = [{"type": "_expression", "values": ["true"]}]
    return found


def level(random: Random, number: int) -> Json:
    values = [f"{random.choice(VALUES)}_{number}", *(some(random, VALUES) if random.random() < 0.3 else ())]
    if random.random() < 0.2:
        values.insert(random.randrange(2), random.choice(BLANK))
    return {"values": values} | random.choice(({}, {"isExcludes": False}, {"isRecursive": None}))


def resources(random: Random, number: int) -> Json:
    return {any_case(random, name): level(random, number) for name in random.choice(PATHS)}


def recurrence(random: Random) -> Json:
    day = {"dayOfMonth": ", ".join(dict.fromkeys(some(random, TIMES))) or " 5 "}
    start = {"minute": "0", "hour": " 7 , 1", "month": "*", "year": "2026 ", "dayOfWeek": random.choice(("", " ", "2"))}
    return {"schedule": {**start, **day}, "interval": {"hours": random.randrange(1, 3)}}


def schedule(random: Random) -> Json:
    found: Json = {"startTime": "2026/01/01 00:00:00", "endTime": "2026/12/31 00:00:00"}
    found["timeZone"] = random.choice(("", "UTC", "Europe/Berlin"))
    if random.random() < 0.6:
        found["recurrences"] = [recurrence(random) for _ in range(random.randrange(3))]
    return found


def policy(seed: int, known: Sequence[str] = NAMES) -> Json:
    """A policy of its own name and resources, for some of these users, groups and roles."""
    random = Random(seed)
    found: Json = {"name": f"p{seed}", "resources": resources(random, seed), "policyItems": [item(random, known)]}
    for kind in ("denyPolicyItems", "allowExceptions", "denyExceptions", "policyItems"):
        if random.random() < 0.3:
            found[kind] = [item(random, known) for _ in range(random.randrange(1, 3))]
    if random.random() < 0.2:
        found["additionalResources"] = [resources(random, seed) for _ in range(random.randrange(3))]
    if random.random() < 0.3:
        found["validitySchedules"] = [schedule(random)]
    if random.random() < 0.3:
        found["policyLabels"] = some(random, LABELS)
    if random.random() < 0.3:
        found |= random.choice(({"description": ""}, {"policyPriority": 1}, {"isEnabled": False}, {"zoneName": None}))
    return found
