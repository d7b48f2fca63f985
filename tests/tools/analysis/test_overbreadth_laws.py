"""Law: with the values that are enough, access to every entity stays as it was, and no other request gains any."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings

from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.errors import PolicySetError
from ranger_cdap.tools.analysis.impact import impact
from ranger_cdap.tools.analysis.overbreadth import Overbreadth, overbreadth
from tests.tools.analysis.small_sets import ACCESSES, GROUPS, PERSONS, Json, definition, engine, numbered, scenario
from tests.tools.analysis.test_impact_laws import SETS, drawn, randoms

NAMES = ("a", "ab", "abc", "abd", "b", "bb", "x*")
PATTERNS = ("*", "?*", "a*", "*b", "ab*", "*a*", "??", "zz*", "b", "{USER}*", "*x*")


def narrowed(documents: Json, found: Overbreadth) -> Json:
    """The documents with each value replaced by what is enough."""
    new = copy.deepcopy(documents)
    by_policy: dict[int, dict[tuple[str, str], Sequence[str]]] = {}
    for one in found.values:
        by_policy.setdefault(one.policy_id, {})[one.level, one.value] = one.enough
    zones = new["policies"].get("securityZones", {}).values()
    for policy in [*new["policies"]["policies"], *(one for zone in zones for one in zone["policies"])]:
        enough = by_policy.get(policy["id"], {})
        for level, element in policy["resources"].items():
            element["values"] = [v for value in element["values"] for v in enough.get((level, value), [value])]
            policy["isEnabled"] = policy.get("isEnabled", True) and bool(element["values"])
    return new


def drawn_set(random: Random) -> Json:
    documents = scenario(random, frozenset(random.choice(((), ("zones",)))))
    zones = documents["policies"].get("securityZones", {}).values()
    for policy in [*documents["policies"]["policies"], *(one for zone in zones for one in zone["policies"])]:
        policy.pop("additionalResources", None)
        for level in policy["resources"].values():
            if isinstance(level, dict) and isinstance(level.get("values"), list):
                level["values"] = random.sample(PATTERNS, random.randint(1, 2))
    return documents


def entities(random: Random) -> list[dict[str, str]]:
    found: list[dict[str, str]] = [{"base": name} for name in random.sample(NAMES, 3)]
    pairs = random.sample([*product(NAMES, NAMES)], random.randint(1, 12))
    return found + [{"base": base, "table": table} for base, table in pairs]


def test_enough_is_enough_for_every_entity_and_gives_nobody_more() -> None:
    seen = {"narrowed": 0, "asked": 0, "allowed": 0}

    @settings(drawn, max_examples=5 * SETS)
    @given(randoms)
    def holds(random: Random) -> None:
        documents, there = drawn_set(random), entities(random)
        try:
            before = engine(documents)
        except PolicySetError:
            return
        found = overbreadth(before, there, max_names=random.choice((1, 2, 5)))
        after = engine(narrowed(documents, found))
        seen["narrowed"] += len(found.values)
        for resource, access, user, group in product(there, ACCESSES, PERSONS, (*GROUPS, None)):
            groups = frozenset({group} if group else ())
            request = AccessRequest(resource, access, user=user, groups=groups, access_time=1)
            allowed = before.evaluate(request).allowed
            seen["asked"] += 1
            seen["allowed"] += allowed
            assert after.evaluate(request).allowed is allowed, (request, found)
        change = impact(before, after)
        assert change.gained == ()
        assert change.contradictions == ()

    holds()
    assert min(seen.values()) > 10, seen


def test_fewer_names_than_allowed_are_named() -> None:
    there = [{"base": "x", "table": name} for name in TABLES]
    assert overbreadth(engine_of("stock*"), there, max_names=2).values[0].enough == ("stock_1", "stock_2")
    assert overbreadth(engine_of("stock*"), there, max_names=1).values[0].enough == ("stock_*",)
    assert overbreadth(engine_of("*_1"), there, max_names=1).values == ()


def test_a_name_that_would_be_a_wildcard_is_not_proposed() -> None:
    assert overbreadth(engine_of("*x*"), [{"base": "x", "table": "ax*"}]).values == ()


def engine_of(*values: str, **more: object) -> PolicyEngine:
    policy = {
        "resources": {"base": {"values": ["x"]}, "table": {"values": [*values]}},
        "policyItems": [{"users": ["u"], "accesses": [{"type": "read"}]}],
        **more,
    }
    download = {"serviceName": "s", "serviceDef": definition(False), "policies": numbered([policy])}
    return engine({"policies": download, "roles": {}})


TABLES = [*(f"sales_{n}" for n in range(7)), "stock_1", "stock_2", "tax"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["s*"], []),
        (["sal*"], [("sal*", 7, ("sales_*",))]),
        (["sales_*"], []),
        (["*_1"], [("*_1", 2, ("sales_1", "stock_1"))]),
        (["t*"], [("t*", 1, ("tax",))]),
        (["hr_*"], [("hr_*", 0, ())]),
        (["hr"], []),
        (["?*"], []),
        (["stoc*", "t*", "x*"], [("stoc*", 2, ("stock_1", "stock_2")), ("t*", 1, ("tax",)), ("x*", 0, ())]),
        (["{USER}*"], []),
    ],
)
def test_what_is_too_wide(values: list[str], expected: list[tuple[str, int, tuple[str, ...]]]) -> None:
    found = overbreadth(engine_of(*values), [{"base": "x", "table": name} for name in TABLES])
    assert [(one.value, one.entities, one.enough) for one in found.values] == expected


@pytest.mark.parametrize("more", [{"denyPolicyItems": [{"users": ["v"], "accesses": [{"type": "read"}]}]}])
def test_a_policy_that_denies_is_not_judged(more: Json) -> None:
    there = [{"base": "x", "table": name} for name in TABLES]
    assert overbreadth(engine_of("t*", **more), there).values == ()


def test_nothing_is_said_of_a_type_without_entities() -> None:
    found = overbreadth(engine_of("t*"), [{"base": "x"}])
    assert (found.values, found.not_judged) == ((), ("table",))


def test_policies_that_are_kept_are_not_judged() -> None:
    assert overbreadth(engine_of("t*"), [{"base": "x", "table": "tax"}], kept={1}).values == ()
