"""Law: what is redundant can be removed, all at once, and every request is decided as before; nothing more can be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random

import msgspec
import pytest
from hypothesis import given

from ranger_cdap.engine import ADMIN_ACCESS, AccessRequest, PolicyEngine
from ranger_cdap.errors import PolicySetError
from ranger_cdap.tools.analysis.impact import impact
from ranger_cdap.tools.analysis.redundancy import Redundancy, redundancy
from ranger_cdap.tools.analysis.request_search import SearchBudget
from ranger_cdap.tools.analysis.without_principals import ItemPrincipal, without_principals
from tests.tools.analysis.small_sets import (
    ACCESSES,
    Features,
    Json,
    definition,
    engine,
    item,
    numbered,
    requests,
    scenario,
)
from tests.tools.analysis.test_impact_laws import (
    EVERYTHING,
    HIGHER,
    LOWER,
    TAG_SIDES,
    drawn,
    features_of,
    randoms,
    with_a_tag,
)

KINDS = ["plain", "macros+super", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("conditions", EVERYTHING))]
ASKED = 400


def without(documents: Json, removed: Iterable[tuple[int, ItemPrincipal]]) -> Json:
    by_policy: dict[int, list[ItemPrincipal]] = {}
    for policy_id, one in removed:
        by_policy.setdefault(policy_id, []).append(one)
    download = without_principals(msgspec.json.encode(documents["policies"]), by_policy)
    return {**documents, "policies": msgspec.json.decode(download)}


def removals(found: Redundancy) -> list[tuple[int, ItemPrincipal]]:
    return [(one.policy_id, ItemPrincipal(one.item, one.principal)) for one in found.principals]


def given_twice(random: Random, features: Features) -> Json:
    """A set of which some items are there twice, in a policy of their own or of others."""
    documents = scenario(random, features)
    policies = documents["policies"]["policies"]
    for one in random.sample(policies, min(2, len(policies))):
        copy = {**one, "policyItems": [*random.sample(one["policyItems"], min(1, len(one["policyItems"])))]}
        copy["policyItems"] += [item(random, features)] if random.random() < 0.3 else []
        policies += numbered(
            [{**copy, "id": 900 + len(policies), "name": f"copy {len(policies)}"}], 900 + len(policies)
        )
    return documents


@pytest.mark.parametrize("kind", KINDS)
def test_without_what_is_redundant_every_request_is_decided_alike(kind: str) -> None:
    features, seen = features_of(kind), {"removed": 0, "policies gone": 0, "asked": 0}

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        documents, mode = given_twice(random, features), random.choice(("safe", "safe", "ranger"))
        try:
            before = engine(documents, mode)  # type: ignore[arg-type]
        except PolicySetError:
            return
        found = redundancy(before)
        reduced = without(documents, removals(found))
        after = engine(reduced, mode)  # type: ignore[arg-type]
        seen["removed"] += len(found.principals)
        seen["policies gone"] += len(documents["policies"]["policies"]) - len(reduced["policies"]["policies"])
        for access in (*ACCESSES, ADMIN_ACCESS):
            every = list(requests(features, access))
            for request in random.sample(every, min(ASKED, len(every))):
                seen["asked"] += 1
                assert before.evaluate(request).allowed is after.evaluate(request).allowed, request
        again = redundancy(after)
        assert again.principals == ()
        assert redundancy(before, kept=range(2_000)).principals == ()

    holds()
    assert min(seen.values()) > 4, seen


@drawn
@given(randoms)
def test_removing_anything_else_changes_a_decision(random: Random) -> None:
    documents = given_twice(random, frozenset())
    before = engine(documents)
    found = redundancy(before)
    assert found.undecided == ()
    reduced = without(documents, removals(found))
    after = engine(reduced)
    for one in others(reduced):
        less = engine(without(reduced, [one]))
        changed = impact(after, less)
        assert changed.contradictions == ()
        assert changed.lost or changed.gained, one


def others(documents: Json) -> Iterator[tuple[int, ItemPrincipal]]:
    """Every principal of every allow item of policies that are used as they are written."""
    texts = {"{USER}": "any user", "{OWNER}": "the owner"}
    for policy in documents["policies"]["policies"]:
        if not policy["isEnabled"] or "unreadable" in policy.values():
            continue
        for number, one in enumerate(policy["policyItems"], 1):
            users = [texts.get(name, f"user {name}") for name in one["users"]]
            named = [*users, *(f"group {name}" for name in one["groups"]), *(f"role {name}" for name in one["roles"])]
            for principal in ["everyone"] if "public" in one["groups"] else dict.fromkeys(named):
                yield policy["id"], ItemPrincipal(number, principal)


def documents_of(*policies: Json) -> Json:
    download = {"serviceName": "s", "serviceDef": definition(False), "policies": numbered(policies)}
    return {"policies": download, "roles": {}}


def engine_of(*policies: Json) -> PolicyEngine:
    return engine(documents_of(*policies))


def policy(base: str, *items: Json, **more: object) -> Json:
    return {"resources": {"base": {"values": base.split(",")}}, "policyItems": [*items], **more}


def gives(access: str, *, users: Sequence[str] = (), groups: Sequence[str] = ()) -> Json:
    given = [{"type": name} for name in access.split()]
    return {"users": [*users], "groups": [*groups], "roles": [], "accesses": given}


U, G, PUBLIC = gives("read", users=["u"]), gives("read", groups=["g"]), gives("read", groups=["public"])
CASES = {
    "the same in a wider policy": ([policy("a*", U), policy("a", U)], {(2, 1, "user u")}),
    "the same in one item": ([policy("a", U, U)], {(1, 2, "user u")}),
    "an access type implied": ([policy("a", gives("write", users=["u"])), policy("a", U)], {(2, 1, "user u")}),
    "less than the other": ([policy("a", U), policy("a", gives("write", users=["u"]))], {(1, 1, "user u")}),
    "everyone has it": ([policy("*", PUBLIC), policy("a", U, G)], {(2, 1, "user u"), (2, 2, "group g")}),
    "one of two": ([policy("a", G), policy("a", gives("read", groups=["g", "h"]))], {(2, 1, "group g")}),
    "only together": (
        [policy("a", U), policy("b", U), policy("a,b", U)],
        {(3, 1, "user u")},
    ),
    "another resource": ([policy("a", U), policy("b", U)], set()),
    "another access type": ([policy("a", U), policy("a", gives("write", groups=["g"]))], set()),
    "a user of a group may leave it": ([policy("a", G), policy("a", U)], set()),
    "a denial is in the way of one": (
        [policy("a", U, policyPriority=1), policy("a", denyPolicyItems=[U]), policy("a", U)],
        {(3, 1, "user u")},
    ),
    "the other does not always apply": ([policy("a", U, isEnabled=False), policy("a", U)], set()),
    "a denial stays": (
        [policy("a*", U, gives("write", users=["v"])), policy("a", U, denyPolicyItems=[gives("write", users=["v"])])],
        {(2, 1, "user u")},
    ),
    "what is denied anyway": ([policy("a", U), policy("a", denyPolicyItems=[U])], {(1, 1, "user u")}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_redundant(name: str) -> None:
    policies, expected = CASES[name]
    found = redundancy(engine_of(*policies))
    assert {(one.policy_id, one.item, one.principal) for one in found.principals} == expected
    decides_alike(documents_of(*policies), found)


def decides_alike(documents: Json, found: Redundancy) -> None:
    before, after = engine(documents), engine(without(documents, removals(found)))
    for access in (*ACCESSES, ADMIN_ACCESS):
        for request in requests(frozenset(), access):
            assert before.evaluate(request).allowed is after.evaluate(request).allowed, request


@pytest.mark.parametrize("lower", LOWER)
@pytest.mark.parametrize("higher", HIGHER)
@pytest.mark.parametrize("side", TAG_SIDES)
def test_what_a_policy_does_to_tags_is_not_redundant(side: str, higher: str, lower: str) -> None:
    where = {"base": {"values": ["a"]}}
    policies = [{**HIGHER[higher], "policyPriority": priority, "resources": where} for priority in (5, 4)]
    documents = with_a_tag(TAG_SIDES[side], [*policies, {**LOWER[lower], "resources": where}])
    for policy in documents["policies"]["policies"]:
        policy.setdefault("policyItems", [])
        for one in policy["policyItems"]:
            one.update({"groups": [], "roles": []})
    decides_alike(documents, redundancy(engine(documents)))


def test_what_a_tag_gives_as_well_is_redundant() -> None:
    documents = with_a_tag("policyItems", [policy("a", U)])
    found = redundancy(engine(documents))
    (one,) = found.principals
    assert one.given_by == ('policy 1000 "p1000", allow item 1 (user u), by the tag T',)
    decides_alike(documents, found)


@pytest.mark.parametrize("access", ACCESSES)
def test_a_policy_that_upholds_a_denial_by_tags_is_not_redundant(access: str) -> None:
    """Without the first policy, the second one would override the denial."""
    v, u = gives("read", users=["v"]), gives(access, users=["u"])
    first, second = policy("a", v, policyPriority=5), policy("a", v, u, policyPriority=4)
    documents = with_a_tag("denyPolicyItems", [first, second])
    (denial,) = documents["policies"]["tagPolicies"]["policies"][0]["denyPolicyItems"]
    denial["accesses"] = [{"type": f"kind:{access}"}]
    assert redundancy(engine(documents), kept={2}).principals == ()
    assert not engine(documents).evaluate(AccessRequest({"base": "a"}, access, user="u", access_time=1)).allowed


def test_it_says_who_gives_the_same() -> None:
    (one,) = redundancy(
        engine_of(policy("a*", U, G), policy("a", gives("read write", users=["v"])), policy("a", U))
    ).principals
    assert one.given_by == ('policy 1 "p1", allow item 1 (user u)',)
    assert (one.accesses, one.resources) == (("read",), ("base a",))


def test_what_the_budget_does_not_suffice_for_stays() -> None:
    found = redundancy(engine_of(policy("a*", U), policy("a", U)), budget=SearchBudget(search_steps=0, value_steps=0))
    assert found.principals == ()
    assert found.undecided == ("policy 2", "policy 1")
