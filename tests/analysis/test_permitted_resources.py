"""Laws of the search for resources, held against every resource of a small universe that the engine decides."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from ranger_cdap.analysis.permitted_resources import (
    LevelPattern,
    NamedPart,
    Patterned,
    PermittedSearch,
    ResourcePattern,
    SearchLimits,
)
from ranger_cdap.engine import NO_POLICY, AccessRequest, PolicyEngine
from ranger_cdap.engine.compiled.matcher import compile_element
from ranger_cdap.engine.compiled.service_def import Path
from ranger_cdap.ranger_model.document import replaced
from tests.analysis.small_sets import (
    ACCESSES,
    ADDRESSES,
    ENRICHER,
    EVALUATORS,
    PERSONS,
    TIMES,
    VALUES,
    Features,
    Json,
    definition,
    engine,
    numbered,
)
from tests.analysis.test_impact_laws import EVERYTHING, KINDS, SETS, drawn, features_of, randoms
from tests.analysis.test_reach_laws import GROUPS, drawn_set, reading

PATHS: tuple[Path, ...] = (("base",), ("base", "table"))
many = settings(drawn, max_examples=10 * SETS)


def asked(random: Random, features: Features) -> AccessRequest:
    timed, placed = bool(features & {"conditions", "tags"}), "conditions" in features
    return AccessRequest(
        {},
        random.choice(ACCESSES),
        user=random.choice(PERSONS),
        groups=random.choice(GROUPS),
        access_time=random.choice(TIMES if timed else TIMES[:1]),
        client_ip=random.choice(ADDRESSES) if placed else None,
        owner=random.choice(("u", "a", None)),
    )


def covers(part: NamedPart, resource: dict[str, str], judge: PolicyEngine) -> bool:
    """Whether a resource matches a part, as a reader of Ranger's policies matches it."""
    levels = zip(part.levels, resource.items(), strict=True)
    options = judge.state.model.levels
    return all(
        compile_element(level.values, level.excludes, options[name]).covers(value, None)
        for level, (name, value) in levels
    )


def matches(pattern: ResourcePattern, resource: dict[str, str], judge: PolicyEngine) -> bool:
    within = not pattern.within or any(covers(one, resource, judge) for one in pattern.within)
    return within and covers(pattern.part, resource, judge)


def excepted(pattern: ResourcePattern, resource: dict[str, str], judge: PolicyEngine) -> bool:
    return any(covers(one, resource, judge) for one in pattern.exceptions)


def universe(path: Path) -> Iterator[dict[str, str]]:
    for values in product(VALUES, repeat=len(path)):
        yield dict(zip(path, values, strict=True))


def is_named(names: tuple[tuple[str, ...], ...], resource: dict[str, str], judge: PolicyEngine) -> bool:
    folds = judge.state.model.levels["base"].ignore_case
    wanted = tuple(value.lower() if folds else value for value in resource.values())
    return any(tuple(value.lower() if folds else value for value in name) == wanted for name in names)


@pytest.mark.parametrize("kind", KINDS)
def test_each_permitted_resource_is_named_or_matches_a_pattern(kind: str) -> None:
    features = features_of(kind)
    counted = dict.fromkeys(("named", "pattern", "denied", "sure", "excepted", "undecided", "decided"), 0)

    @many
    @given(randoms)
    def holds(random: Random) -> None:
        made = drawn_set(random, features)
        if made is None:
            return
        _, judge = made
        request, path = asked(random, features), random.choice(PATHS)
        search = PermittedSearch(judge, request, path)
        named, patterned = search.named(), search.patterned()
        assert (named.left_out, patterned.left_out) == (False, False)
        for pattern in patterned.patterns:
            counted["undecided" if pattern.undecided else "decided"] += 1
        for resource in universe(path):
            allowed = judge.evaluate(replaced(request, resource=resource)).allowed
            by_name = is_named(named.names, resource, judge)
            found = [one for one in patterned.patterns if matches(one, resource, judge)]
            if allowed:
                assert by_name or found, resource
                counted["named"] += by_name
                counted["pattern"] += bool(found)
            for pattern in found:
                outside = excepted(pattern, resource, judge)
                counted["excepted"] += outside
                if not pattern.undecided and not outside:
                    assert allowed, (resource, pattern)
                    counted["sure"] += 1
            counted["denied"] += not allowed

    holds()
    assert min(counted[key] for key in ("named", "pattern", "denied", "sure", "excepted", "decided")) > 0, counted


@pytest.mark.parametrize("kind", ["plain", pytest.param(EVERYTHING, marks=pytest.mark.slow)])
def test_whatever_the_limits_nothing_is_left_out_unsaid(kind: str) -> None:
    features, said = features_of(kind), {True: 0, False: 0}

    @many
    @given(randoms)
    def holds(random: Random) -> None:
        made = drawn_set(random, features)
        if made is None:
            return
        _, judge = made
        request, path = asked(random, features), random.choice(PATHS)
        low = [random.choice((0, 1, 2)) for _ in range(7)]
        search = PermittedSearch(judge, request, path, SearchLimits(*(n * random.choice((1, 10)) for n in low)))
        named, patterned = search.named(), search.patterned()
        left_out = named.left_out or patterned.left_out
        said[left_out] += 1
        for resource in universe(path):
            allowed = judge.evaluate(replaced(request, resource=resource)).allowed
            found = [one for one in patterned.patterns if matches(one, resource, judge)]
            assert not allowed or left_out or found or is_named(named.names, resource, judge), resource
            for pattern in found:
                assert allowed or pattern.undecided or excepted(pattern, resource, judge), (resource, pattern)

    holds()
    assert min(said.values()) > 0, said


# --- one by one ---------------------------------------------------------------------------------------------------

TABLE = ("base", "table")
READ = AccessRequest({}, "read", user="u")


def on(base: str, table: str, **more: Any) -> Json:
    return {"resources": {"base": {"values": [base]}, "table": {"values": [table]}}, **more}


def allowing(base: str, table: str, **more: Any) -> Json:
    return on(base, table, policyItems=[reading("u") | more])


def judge_of(*policies: Json, **more: Any) -> PolicyEngine:
    download = {"serviceName": "s", "serviceDef": definition(False), "policies": numbered(policies), **more}
    return engine({"policies": download, "roles": {}})


def found_by(judge: PolicyEngine, request: AccessRequest = READ, **limits: int) -> Patterned:
    return PermittedSearch(judge, request, TABLE, SearchLimits(**limits)).patterned()


def part(base: str, table: str, policy: int = NO_POLICY, zone: str | None = None) -> NamedPart:
    return NamedPart((LevelPattern((base,)), LevelPattern((table,))), policy, NO_POLICY if policy < 0 else 1, zone)


def test_in_a_zone_its_policies_decide_and_outside_it_is_an_exception() -> None:
    zone = {"zoneName": "z", "resources": [{"base": ["z*"]}], "policies": numbered([allowing("*", "a*")], 10)}
    judge = judge_of(allowing("*", "*"), securityZones={"z": zone})
    assert found_by(judge).patterns == (
        ResourcePattern(part("*", "*", 1), exceptions=(part("z*", "*", zone="z"),)),
        ResourcePattern(part("*", "a*", 10, "z"), within=(part("z*", "*", zone="z"),)),
    )


@pytest.mark.parametrize("value", ["{USER}*", "*{OWNER}", "{TEAM}*"])
def test_a_macro_is_replaced_in_a_pattern(value: str) -> None:
    request = replaced(READ, owner="u", context={"token:TEAM": "u"})
    named = value.replace("{USER}", "u").replace("{OWNER}", "u").replace("{TEAM}", "u")
    judge = judge_of(allowing("a", value))
    assert found_by(judge, request).patterns == (ResourcePattern(part("a", named, 1)),)


def test_a_macro_that_reads_as_a_wildcard_leaves_its_pattern_undecided() -> None:
    judge = judge_of(on("a", "{USER}*", policyItems=[{"groups": ["public"], "accesses": [{"type": "read"}]}]))
    request = replaced(READ, user="x*")
    allowed = [judge.evaluate(replaced(request, resource={"base": "a", "table": t})).allowed for t in ("x*y", "xay")]
    assert allowed == [True, False]
    (one,) = found_by(judge, request).patterns
    assert (one.part, one.undecided) == (part("a", "x**", 1), True)


def test_an_excluded_value_is_excluded_in_the_pattern() -> None:
    policy = allowing("a", "b")
    policy["resources"]["table"]["isExcludes"] = True
    (one,) = found_by(judge_of(policy)).patterns
    assert one == ResourcePattern(NamedPart((LevelPattern(("a",)), LevelPattern(("b",), excludes=True)), 1, 1))


def test_a_failed_group_lookup_leaves_patterns_undecided() -> None:
    denial = on("a", "b*", denyPolicyItems=[{"groups": ["g"], "accesses": [{"type": "read"}]}])
    judge = judge_of(allowing("a", "*"), denial)
    assert [one.undecided for one in found_by(judge).patterns] == [False]
    assert [one.undecided for one in found_by(judge, replaced(READ, groups_known=False)).patterns] == [True]


def test_a_condition_on_the_tags_of_a_resource_is_not_decided_without_the_resource() -> None:
    kind = definition(False)
    kind["policyConditions"] = [{"name": "tags", "evaluator": EVALUATORS + "RangerTagsAllPresentConditionEvaluator"}]
    tags_of = {"name": "tag", "resources": [{"name": "tag"}], "accessTypes": [{"name": "kind:read"}]}
    tags_of["contextEnrichers"] = [{"itemId": 1, "name": "tags", "enricher": ENRICHER}]
    policies = {"serviceName": "t", "serviceDef": tags_of, "policies": []}
    tags = {
        "serviceName": "s",
        "tags": {"1": {"id": 1, "type": "T"}},
        "serviceResources": [
            {"id": 1, "resourceElements": {n: {"values": [v]} for n, v in (("base", "a"), ("table", "b*"))}}
        ],
        "resourceToTagIds": {"1": [1]},
    }
    allowed = numbered([allowing("*", "*", conditions=[{"type": "tags", "values": ["T"]}])])
    download = {"serviceName": "s", "serviceDef": kind, "policies": allowed, "tagPolicies": policies}
    judge = engine({"policies": download, "roles": {}, "tags": tags})
    values = ({"base": "a", "table": "b1"}, {"base": "a", "table": "c"})
    assert [judge.evaluate(replaced(READ, resource=one)).allowed for one in values] == [True, False]
    (one,) = found_by(judge).patterns
    assert (one.part, one.undecided) == (part("*", "*", 1), True)


def test_patterns_beyond_the_limit_of_comparisons_are_undecided() -> None:
    judge = judge_of(*(allowing(f"n{n}", "*") for n in range(30)))
    patterns = found_by(judge, met=20).patterns
    assert [one.undecided for one in patterns] == [False] * 20 + [True] * 10
    assert [one.part.policy_id for one in patterns] == list(range(1, 31))


def test_a_pattern_that_meets_much_leaves_others_decided() -> None:
    judge = judge_of(allowing("*", "*"), *(allowing(f"n{n}", "*") for n in range(30)))
    assert [one.undecided for one in found_by(judge, met=500).patterns] == [False] * 31
    first, *others = (one.undecided for one in found_by(judge, met=100).patterns)
    assert first
    assert not any(others)


def test_more_exceptions_than_the_limit_leave_a_pattern_undecided() -> None:
    denials = (on("a", f"d{n}", denyPolicyItems=[reading("u")]) for n in range(3))
    judge = judge_of(allowing("a", "*"), *denials)
    for most, undecided in ((3, False), (2, True)):
        (one,) = found_by(judge, exceptions=most).patterns
        assert (len(one.exceptions), one.undecided) == (most, undecided)


def test_values_of_many_levels_are_a_pattern_beyond_the_limit() -> None:
    policy = {"resources": {name: {"values": ["a", "b", "c"]} for name in TABLE}, "policyItems": [reading("u")]}
    judge = judge_of(policy)
    for most, names in ((9, 9), (8, 0)):
        search = PermittedSearch(judge, READ, TABLE, SearchLimits(product=most))
        assert len(search.named().names) == names
        assert len(search.patterned().patterns) == (0 if names else 1)
