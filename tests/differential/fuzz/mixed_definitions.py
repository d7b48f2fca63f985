"""Service definitions of a mixed scenario, and the names that each of their levels may hold.

Where case does not count, letters whose capitals are equal but whose small letters are not have no place: the look-up
of Java misses policies there (docs/reference/compatibility.md), so that it is no judge of them.
"""

from __future__ import annotations

from typing import Any

from tests.differential.definitions import (
    ACCESS_TYPES,
    CATEGORIES,
    CONDITION_DEFS,
    MATCHER_OPTIONS,
    cdap_definition,
    markers,
)
from tests.differential.fuzz.die import Die
from tests.differential.fuzz.mixed_paths import MATCHERS, SEPARATORS, is_path, path_names

Json = dict[str, Any]

PLAIN = ("a", "b", "ab", "aab", "A", "s", "i", "k", "axb")
ASTRAL = ("\U0001f600", "x\U0001f600", "a\U0001f600b", "\U00010400", "\U00010428", "\U0001f600\U0001f601")
ODD_BUT_FOUND = ("\u212a", "\u0130", "a\u212a", "\xdf", "\xe4", "\xc4")
ODD_AND_MISSED = ("\u017f", "\u0131", "a\u03c2", "\u03c3", "\xb5", "\u03bc", "q\u017f", "\u03d0")
USER_STORE = "org.apache.ranger.plugin.contextenricher.RangerUserStoreEnricher"


def definition(die: Die) -> Json:
    """CDAP's own, or a forest of two to four resources."""
    return cdap_definition() if die.chance(30) else _forest(die)


def _forest(die: Die) -> Json:
    levels: list[Json] = []
    for n in range(die.between(2, 4)):
        above = die.one([None, *levels, *levels[-1:] * 4]) if levels else None
        levels.append(
            {
                "itemId": n + 1,
                "name": f"r{n}",
                "level": (above["level"] if above else 0) + 10,
                "parent": above["name"] if above else "",
                "isValidLeaf": die.one([None, True, True]),
                "matcher": die.one(MATCHERS),
                "matcherOptions": {
                    **die.one(MATCHER_OPTIONS),
                    **die.given(25, pathSeparatorChar=lambda: die.one(SEPARATORS)),
                },
                "recursiveSupported": die.chance(50),
            }
        )
    drawn: Json = {
        "id": 1,
        "name": "random",
        "resources": levels,
        "accessTypes": _access_types(die),
        "policyConditions": CONDITION_DEFS,
        "options": {"enableDenyAndExceptionsInPolicies": "false"} if die.chance(12) else {},
    }
    if die.chance(50):
        drawn["markerAccessTypes"] = markers(drawn["accessTypes"])
    return drawn


def _access_types(die: Die) -> list[Json]:
    """Each implies some of those before it, and says so in full; now and then one name stands twice."""
    names = die.some(ACCESS_TYPES, most=4, least=2)
    closure: dict[str, set[str]] = {}
    for n, name in enumerate(names):
        direct = set(die.some(names[:n])) if n else set()
        closure[name] = direct.union(*(closure[each] for each in direct))
    listed = [(name, sorted(closure[name])) for name in names]
    if die.chance(20):
        again = set(die.some(names[:-1], most=1))
        listed.append((names[-1], sorted(again.union(*(closure[each] for each in again)))))
    return [
        {"itemId": n, "name": name, "category": CATEGORIES[name], "impliedGrants": implied}
        for n, (name, implied) in enumerate(listed, 1)
    ]


def ignores_case(level: Json) -> bool:
    return str(level.get("matcherOptions", {}).get("ignoreCase", "true")).lower() == "true"


def pools(die: Die, given: Json, *, everything: bool) -> dict[str, list[str]]:
    """Names by level: few, so that policies and requests meet; `everything`: also those Java is no judge of."""
    names: dict[str, list[str]] = {}
    for level in given["resources"]:
        missed = ODD_AND_MISSED if everything or not ignores_case(level) else ()
        if is_path(level):
            names[level["name"]] = path_names(die, level, missed=missed)
            continue
        kinds: list[tuple[str, ...]] = [ASTRAL, ODD_BUT_FOUND] if die.chance(60) else []
        if kinds and missed:
            kinds.append(missed)
        pool = die.some(PLAIN, most=2, least=2)
        for kind in kinds:
            pool += die.some(kind, most=1, least=1 if everything else 0)
        names[level["name"]] = pool
    return names
