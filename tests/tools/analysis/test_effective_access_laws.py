"""Laws of effective access, held against every request of a small universe that the engine decides."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given

from ranger_cdap.engine import ADMIN_ACCESS, AccessRequest, PolicyEngine
from ranger_cdap.engine.compiled.compile_level import compile_element
from ranger_cdap.engine.compiled.matcher import ResourceMatcher
from ranger_cdap.errors import PolicySetError
from ranger_cdap.tools.analysis.effective_access import (
    AccessScope,
    FoundAccess,
    ItemAccess,
    effective_access,
)
from ranger_cdap.tools.analysis.logic.formula import Formula
from ranger_cdap.tools.analysis.request_search import SearchBudget
from ranger_cdap.tools.analysis.subject import Subject
from tests.tools.analysis.guards import contains
from tests.tools.analysis.small_sets import ACCESSES, Features, Json, definition, engine, numbered, requests, scenario
from tests.tools.analysis.test_impact_laws import EVERYTHING, KINDS, SETS, SLOW, drawn, features_of, randoms

SUBJECTS = ("u", "v", "a")
GROUPS = (frozenset[str](), frozenset({"g"}), frozenset({"g", "h"}))
ASKED = 400
FEW = ["plain", *(pytest.param(kind, marks=pytest.mark.slow) for kind in (*("macros", "zones", "super"), *SLOW))]
PATTERNS = {"base": ("a", "a*", "*", "*b"), "table": ("a", "*b", "*", "?", "z*")}


def drawn_set(random: Random, features: Features) -> tuple[Json, PolicyEngine] | None:
    documents = scenario(random, features)
    try:
        return documents, engine(documents, random.choice(("safe", "safe", "safe", "ranger")))
    except PolicySetError:
        return None


def paths(of: PolicyEngine) -> tuple[tuple[str, ...], ...]:
    return ((), *of.view.model.paths.values())


def found_in(found: FoundAccess, guard: Formula, request: AccessRequest) -> bool:
    return contains(found.space, guard, request)


def containing(rows: tuple[ItemAccess, ...], found: FoundAccess, request: AccessRequest) -> list[ItemAccess]:
    key = (request.access_type, tuple(request.resource))
    return [
        row
        for row in rows
        if (row.source.access, row.source.region.path) == key and found_in(found, row.guard, request)
    ]


def denials_of(found: FoundAccess, request: AccessRequest) -> list[ItemAccess]:
    key = (request.access_type, tuple(request.resource))
    return [
        row
        for row in found.taken
        if (row.source.access, row.source.region.path) == key and found_in(found, row.guard, request)
    ]


def some_requests(random: Random, features: Features) -> Iterator[AccessRequest]:
    for access in (*ACCESSES, ADMIN_ACCESS):
        every = list(requests(features, access))
        yield from random.sample(every, min(len(every), ASKED))


def without_denials(documents: Json) -> Json:
    """The same policies, of which none denies or excepts anything; an unreadable policy stays as it is."""
    bare = copy.deepcopy(documents)
    whole = bare["policies"]
    zones = [zone["policies"] for zone in whole.get("securityZones", {}).values()]
    tagged = (whole.get("tagPolicies") or {}).get("policies", [])
    for policy in (one for policies in (whole["policies"], tagged, *zones) for one in policies):
        if policy["denyPolicyItems"] != "unreadable":
            policy |= {"denyPolicyItems": [], "allowExceptions": [], "denyExceptions": [], "isDenyAllElse": False}
    return bare


def unreadable(documents: Json) -> bool:
    return "unreadable" in str(documents)


@pytest.mark.parametrize("kind", KINDS)
def test_each_request_of_a_user_that_is_allowed_is_in_one_row_and_no_other_is(kind: str) -> None:
    features, counted = features_of(kind), {"allowed": 0, "denied": 0, "taken": 0, "exact": 0, "may": 0}

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        made = drawn_set(random, features)
        if made is None:
            return
        documents, judge = made
        user, groups = random.choice(SUBJECTS), random.choice(GROUPS)
        subject = Subject(user, groups, may_own=True)
        found = effective_access(judge, AccessScope((*ACCESSES, ADMIN_ACCESS), paths(judge), {}, subject))
        bare = engine(without_denials(documents), "safe" if judge.view.options.fail_closed else "ranger")
        assert found.contradictions == ()
        mine = (r for r in some_requests(random, features) if (r.user, r.groups) == (user, groups))
        for request in mine:
            allowed = judge.evaluate(request).allowed
            counted["allowed" if allowed else "denied"] += 1
            assert len(containing(found.allowed, found, request)) == allowed, request
            denials = denials_of(found, request)
            taken = not allowed and bare.evaluate(request).allowed
            counted["taken"] += taken
            assert not (allowed and denials), request
            if not unreadable(documents):
                assert bool(denials) == taken, request
        for number, row in enumerate((*found.allowed, *found.taken)):
            counted["may" if row.doubts else "exact"] += 1
            assert (row.witness is not None) == (not row.doubts)
            if row.witness is not None:
                assert row.witness.put_to(judge) is (number < len(found.allowed))
                request = row.witness.request_to(judge)
                assert (request.user, request.groups) == (user, groups)
                assert found_in(found, row.guard, request)

    holds()
    assert min(counted["allowed"], counted["denied"], counted["exact"]) > SETS, counted
    assert counted["taken"] > 0, counted


def matchers(of: PolicyEngine, random: Random) -> dict[str, ResourceMatcher]:
    levels = random.sample(sorted(PATTERNS), random.randint(1, 2))
    return {
        name: compile_element([random.choice(PATTERNS[name])], False, of.view.model.levels[name]) for name in levels
    }


@pytest.mark.parametrize("kind", FEW)
def test_each_allowed_request_of_a_pattern_is_in_one_row_and_no_other_is(kind: str) -> None:
    features, counted = features_of(kind), {True: 0, False: 0, "outside": 0}

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        made = drawn_set(random, features)
        if made is None:
            return
        _, judge = made
        within = matchers(judge, random)
        found = effective_access(
            judge, AccessScope((*ACCESSES, ADMIN_ACCESS), paths(judge), within, None), denials=False
        )
        assert found.contradictions == ()
        for request in some_requests(random, features):
            values = request.resource
            inside = all(element.covers(values[name], None) for name, element in within.items() if name in values)
            expected = inside and judge.evaluate(request).allowed
            counted[expected if inside else "outside"] += 1
            assert len(containing(found.allowed, found, request)) == expected, request
        for row in found.allowed:
            if row.witness is not None:
                assert containing(found.allowed, found, row.witness.request_to(judge)) == [row]

    holds()
    assert min(counted.values()) > SETS, counted


@pytest.mark.parametrize("kind", ["plain", pytest.param(EVERYTHING, marks=pytest.mark.slow)])
def test_a_user_reaches_what_they_reach_among_anyone(kind: str) -> None:
    """The rows of a user and the rows of anyone hold the same requests of the user."""
    features = features_of(kind)

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        made = drawn_set(random, features)
        if made is None:
            return
        _, judge = made
        scopes = [AccessScope(ACCESSES, paths(judge), {}, s) for s in (None, Subject("u", may_own=True))]
        anyone, one = (effective_access(judge, scope, denials=False) for scope in scopes)
        for row in one.allowed:
            if row.witness is not None:
                assert containing(anyone.allowed, anyone, row.witness.request_to(judge))

    holds()


def test_a_search_without_budget_leaves_out_no_request() -> None:
    doubtful = [0]

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        made = drawn_set(random, frozenset())
        if made is None:
            return
        _, judge = made
        scope = AccessScope(ACCESSES, paths(judge), {}, Subject("u", may_own=True))
        found = effective_access(judge, scope, budget=SearchBudget(0, 0))
        doubtful[0] += sum(bool(row.doubts) for row in found.allowed)
        for request in (r for r in some_requests(random, frozenset()) if (r.user, r.groups) == ("u", frozenset())):
            if request.access_type in ACCESSES and judge.evaluate(request).allowed:
                assert containing(found.allowed, found, request), request

    holds()
    assert doubtful[0] > 0


def test_the_name_of_the_user_is_known_where_a_policy_has_a_macro_for_it() -> None:
    own = {"resources": {"base": {"values": ["{USER}"]}}, "policyItems": [reading("u")]}
    denial = {"resources": {"base": {"values": ["u"]}}, "denyPolicyItems": [reading("u")]}
    for policies, expected in (([own], [{"base": "u"}]), ([own, denial], [])):
        download = {"serviceName": "s", "serviceDef": definition(False), "policies": numbered(policies)}
        judge = engine({"policies": download, "roles": {}})
        found = effective_access(judge, AccessScope(("read",), (("base",),), {}, Subject("u", may_own=True)))
        assert [row.doubts for row in found.allowed] == [()] * len(expected)
        assert [row.witness.request.resource for row in found.allowed if row.witness] == expected


def reading(user: str) -> Json:
    return {"users": [user], "accesses": [{"type": "read"}]}
