"""Laws of the impact of a change, held against every request of a small universe that the engine decides."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.engine import ADMIN_ACCESS, AccessRequest, PolicyEngine
from ranger_cdap.errors import PolicySetError
from ranger_cdap.tools.analysis.impact import ChangedAccess, Impact, impact
from ranger_cdap.tools.analysis.request_search import SearchBudget
from tests.tools.analysis.guards import contains
from tests.tools.analysis.small_sets import (
    ACCESSES,
    ENRICHER,
    Features,
    Json,
    changed,
    definition,
    engine,
    numbered,
    requests,
    scenario,
    tagged,
)

SETS = 20 * (int(os.environ.get("FUZZ_TIMES", "0")) or 1)
ASKED = 150
EVERYTHING = "conditions+macros+zones+tags+super"
SLOW = ("conditions", "tags", "zones+tags+super", EVERYTHING)
KINDS = [
    *("plain", "macros", "zones", "super"),
    *(pytest.param(kind, marks=pytest.mark.slow) for kind in SLOW),
]
randoms = st.integers(0, 2**32).map(Random)
"""Sets are drawn by a random generator: a breach is shown by its number, and small because the sets are."""

drawn = settings(
    max_examples=SETS, deadline=None, derandomize=not os.environ.get("FUZZ_TIMES"),
    suppress_health_check=list(HealthCheck), database=None,
)  # fmt: skip


def features_of(kind: str) -> Features:
    return frozenset(kind.split("+"))


def engines(random: Random, features: Features, count: int = 2) -> list[PolicyEngine] | None:
    """Engines of a set and of sets that each differ from the one before; None if one is refused as a whole."""
    documents = [scenario(random, features)]
    while len(documents) < count:
        documents.append(changed(random, documents[-1], features))
    mode = random.choice(("safe", "safe", "safe", "ranger"))
    try:
        return [engine(each, mode) for each in documents]
    except PolicySetError:
        return None


def some_requests(random: Random, features: Features) -> Iterator[AccessRequest]:
    for access in (*ACCESSES, ADMIN_ACCESS):
        every = list(requests(features, access))
        yield from random.sample(every, min(len(every), ASKED))


def containing(rows: tuple[ChangedAccess, ...], found: Impact, request: AccessRequest) -> list[ChangedAccess]:
    path = tuple(request.resource)
    return [
        row
        for row in rows
        if (row.source.access, row.source.region.path) == (request.access_type, path)
        and contains(found.pair.new, row.guard, request)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_each_request_that_changes_is_in_one_row_and_no_other_request_is(kind: str) -> None:
    features, counted = features_of(kind), {True: 0, False: 0, "exact": 0}

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        pair = engines(random, features)
        if pair is None:
            return
        old, new = pair
        found = impact(old, new)
        assert found.contradictions == ()
        for request in some_requests(random, features):
            before, after = old.evaluate(request).allowed, new.evaluate(request).allowed
            counted[before is not after] += 1
            assert len(containing(found.gained, found, request)) == (after and not before), request
            assert len(containing(found.lost, found, request)) == (before and not after), request
        for rows, without, allowing in ((found.gained, old, new), (found.lost, new, old)):
            for row in rows:
                counted["exact"] += not row.doubts
                assert (row.witness is not None) == (not row.doubts)
                if row.witness is not None:
                    assert row.witness.put_to(allowing)
                    assert not row.witness.put_to(without)
                    assert containing(rows, found, row.witness.request_to(new)) == [row]

    holds()
    assert min(counted.values()) > SETS, counted


def item_of(user: str, prefix: str = "") -> Json:
    return {"users": [user], "accesses": [{"type": prefix + "read"}]}


TAG_SIDES = {"an allow by tags": "policyItems", "a denial by tags": "denyPolicyItems"}
HIGHER = {
    "only allows someone else": {"policyItems": [item_of("v")]},
    "only allows the user": {"policyItems": [item_of("u")]},
    "denies someone else": {"denyPolicyItems": [item_of("v")]},
    "denies someone else and allows the user": {"policyItems": [item_of("u")], "denyPolicyItems": [item_of("v")]},
    "has no items": {},
}
LOWER = {
    "denies the user": {"denyPolicyItems": [item_of("u")], "policyPriority": 1},
    "allows the user": {"policyItems": [item_of("u")], "policyPriority": 1},
    "is missing": {"isEnabled": False},
}


def with_a_tag(side: str, policies: Sequence[Json]) -> Json:
    """Documents in which the resource `a` has a tag whose policy names the user `u` on a side."""
    by_tag = {"resources": {"tag": {"values": ["T"]}}, side: [item_of("u", "kind:")]}
    tag_download, tags = tagged(Random(1), frozenset())
    tag_download |= {"policies": numbered([by_tag], 1000)}
    tag_download["serviceDef"]["contextEnrichers"] = [{"itemId": 1, "name": "tags", "enricher": ENRICHER}]
    tags |= {
        "tags": {"0": {"id": 0, "type": "T"}},
        "serviceResources": [{"id": 0, "resourceElements": {"base": {"values": ["a"]}}}],
        "resourceToTagIds": {"0": [0]},
    }
    download = {"serviceName": "s", "serviceDef": definition(False), "policies": numbered(policies)}
    return {"policies": {**download, "tagPolicies": tag_download}, "roles": {}, "tags": tags}


@pytest.mark.parametrize("lower", LOWER)
@pytest.mark.parametrize("higher", HIGHER)
@pytest.mark.parametrize("side", TAG_SIDES)
def test_policies_after_a_tag_are_evaluated_in_the_order_of_the_engine(side: str, higher: str, lower: str) -> None:
    where = {"base": {"values": ["a"]}}
    documents = with_a_tag(
        TAG_SIDES[side],
        [{**HIGHER[higher], "policyPriority": 5, "resources": where}, {**LOWER[lower], "resources": where}],
    )
    nothing = {**documents, "policies": {**documents["policies"], "policies": [], "tagPolicies": None}}
    old, new = engine(nothing), engine(documents)
    found = impact(old, new)
    assert found.contradictions == ()
    for request in requests(frozenset(), "read"):
        allowed = new.evaluate(request).allowed
        assert len(containing(found.gained, found, request)) == allowed, request


@drawn
@given(randoms)
def test_a_new_super_user_gains_all_that_no_policy_allowed(random: Random) -> None:
    before = scenario(random, frozenset())
    config = {"ranger.plugin.super.users": "v", "ranger.plugin.super.groups": "h"}
    after = {**before, "policies": {**before["policies"], "serviceConfig": config}}
    try:
        old, new = engine(before), engine(after)
    except PolicySetError:
        return
    found = impact(old, new)
    assert (found.lost, found.contradictions) == ((), ())
    for request in some_requests(random, frozenset()):
        gains = new.evaluate(request).allowed and not old.evaluate(request).allowed
        assert len(containing(found.gained, found, request)) == gains, request


@drawn
@given(randoms)
def test_what_is_gained_one_way_is_lost_the_other_way(random: Random) -> None:
    features = features_of("conditions+zones+super")
    pair = engines(random, features)
    if pair is None:
        return
    old, new = pair
    one, other = impact(old, new), impact(new, old)
    assert [where(row) for row in one.gained] == [where(row) for row in other.lost]
    assert [where(row) for row in one.lost] == [where(row) for row in other.gained]


def where(row: ChangedAccess) -> object:
    policy = row.source.ruling.policy.id if row.source.ruling else None
    return policy, row.source.item.number if row.source.item else None, row.source.access, row.source.region.path


@drawn
@given(randoms)
def test_equal_sets_have_no_impact_whatever_their_versions(random: Random) -> None:
    documents = scenario(random, features_of(EVERYTHING))
    again = {**documents, "policies": {**documents["policies"], "policyVersion": 9}}
    again["policies"]["policies"] = [{**each, "version": 7, "guid": "x"} for each in documents["policies"]["policies"]]
    try:
        found = impact(engine(documents), engine(again))
    except PolicySetError:
        return
    assert (found.gained, found.lost) == ((), ())


@drawn
@given(randoms)
def test_two_steps_gain_nothing_that_neither_step_gains(random: Random) -> None:
    features = features_of("conditions+zones")
    three = engines(random, features, 3)
    if three is None:
        return
    first, middle, last = three
    whole, steps = impact(first, last), (impact(first, middle), impact(middle, last))
    for row in whole.gained:
        if row.witness is not None:
            assert any(containing(step.gained, step, row.witness.request_to(last)) for step in steps)


@pytest.mark.parametrize("kind", ["plain", pytest.param("macros+zones", marks=pytest.mark.slow)])
def test_a_search_without_budget_leaves_out_no_request(kind: str) -> None:
    features, doubtful = features_of(kind), [0]

    @drawn
    @given(randoms, st.sampled_from([0, 3, 20]))
    def holds(random: Random, steps: int) -> None:
        pair = engines(random, features)
        if pair is None:
            return
        old, new = pair
        found = impact(old, new, budget=SearchBudget(steps, steps))
        doubtful[0] += sum(bool(row.doubts) for row in (*found.gained, *found.lost))
        for request in some_requests(random, features):
            before, after = old.evaluate(request).allowed, new.evaluate(request).allowed
            if before is not after:
                assert containing(found.gained if after else found.lost, found, request), request

    holds()
    assert doubtful[0] > 0
