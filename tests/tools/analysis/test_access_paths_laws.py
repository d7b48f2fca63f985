"""Laws of cells and ways: the engine judges each answer, and each removal of items that would end an access."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain, combinations
from random import Random

import pytest
from hypothesis import given

from ranger_cdap.engine import ADMIN_ACCESS, NO_POLICY, AccessRequest, PolicyEngine, Verdict
from ranger_cdap.tools.analysis.access_paths import Cell, CellFinder, CellItem
from ranger_cdap.tools.analysis.subject import Subject
from tests.tools.analysis.small_sets import (
    ACCESSES,
    ENRICHER,
    Features,
    Json,
    definition,
    engine,
    item,
    numbered,
    requests,
    tagged,
)
from tests.tools.analysis.test_effective_access_laws import FEW, drawn_set
from tests.tools.analysis.test_impact_laws import SETS, drawn, features_of, randoms

ASKED = 60
MOST_ITEMS = 6


def some_requests(random: Random, features: Features, count: int = ASKED) -> Iterator[AccessRequest]:
    for access in (*ACCESSES, ADMIN_ACCESS):
        every = list(requests(features, access))
        yield from random.sample(every, min(len(every), count))


def all_policies(documents: Json) -> list[Json]:
    whole = documents["policies"]
    zones = [zone["policies"] for zone in whole.get("securityZones", {}).values()]
    return [*whole["policies"], *((whole.get("tagPolicies") or {}).get("policies", [])), *chain(*zones)]


def without(documents: Json, items: Collection[CellItem]) -> Json:
    """The same policies without these allow items; without super users, if they are among the items."""
    rest = copy.deepcopy(documents)
    for one in items:
        if one.ruling is None:
            rest["policies"]["serviceConfig"] = {}
    for policy in all_policies(rest):
        gone = {one.item.number for one in items if one.item is not None and one.policy_id == policy["id"]}
        policy["policyItems"] = [each for n, each in enumerate(policy["policyItems"], 1) if n not in gone]
    return rest


def deciding(cell: Cell) -> list[CellItem]:
    """The items of the deciding policy, on the side that decides."""
    allowed = cell.verdict in (Verdict.ALLOWED, Verdict.CONDITIONAL)
    return [one for one in (cell.allowing if allowed else cell.denying) if one.policy_id == cell.decided_by]


@pytest.mark.parametrize("kind", FEW)
def test_a_look_up_is_the_decision_of_the_engine_and_names_its_policy(kind: str) -> None:
    features, counted = features_of(kind), Counter[str]()

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        made = drawn_set(random, features)
        if made is None:
            return
        _, judge = made
        cells = CellFinder(judge)
        for request in some_requests(random, features):
            cell, decision = cells.lookup(request), judge.evaluate(request)
            counted[cell.verdict] += 1
            if decision.allowed:
                expected = Verdict.ALLOWED
            else:
                expected = Verdict.NO_POLICY if decision.policy_id == NO_POLICY else Verdict.DENIED
            assert cell.verdict is expected, request
            # Over a denial by tags the engine names a higher policy that allows, though it does not prevail.
            trace = judge.explain(request).trace if not decision.allowed and decision.policy_id != NO_POLICY else ()
            overruled = any((one.policy_id, one.outcome) == (decision.policy_id, "allows") for one in trace)
            counted["overruled"] += overruled
            assert overruled or cell.decided_by == decision.policy_id
            assert not overruled or any(one.occurrences for one in deciding(cell))
            is_named = decision.policy_id != NO_POLICY or decision.allowed
            assert bool(deciding(cell)) == is_named, request
            for one in deciding(cell):
                assert one.item is None or (one.item.side == "policyItems") is decision.allowed

    holds()
    asked = (Verdict.ALLOWED, Verdict.DENIED, Verdict.NO_POLICY)
    assert all((counted[status] > SETS) == (status in asked) for status in Verdict), counted
    assert counted["overruled"] < counted[Verdict.DENIED] // 4, counted


def test_over_a_higher_policy_that_does_not_prevail_the_denial_by_a_tag_is_named() -> None:
    """The engine names the policy that allows, as Ranger's does, though the access is denied."""
    where = {"base": {"values": ["a"]}}
    tag_download, tags = tagged(Random(1), frozenset())
    mine = [{"users": ["u"], "accesses": [{"type": "kind:read"}]}]
    tag_download |= {"policies": numbered([{"resources": {"tag": {"values": ["T"]}}, "denyPolicyItems": mine}], 1000)}
    tag_download["serviceDef"]["contextEnrichers"] = [{"itemId": 1, "name": "tags", "enricher": ENRICHER}]
    tags |= {
        "tags": {"0": {"id": 0, "type": "T"}},
        "serviceResources": [{"id": 0, "resourceElements": where}],
        "resourceToTagIds": {"0": [0]},
    }
    higher = {
        "resources": where,
        "policyItems": [{"users": ["u"], "accesses": [{"type": "read"}]}],
        "denyPolicyItems": [{"users": ["v"], "accesses": [{"type": "read"}]}],
        "policyPriority": 5,
    }
    download = {
        "serviceName": "s",
        "serviceDef": definition(False),
        "policies": numbered([higher]),
        "tagPolicies": tag_download,
    }
    judge = engine({"policies": download, "roles": {}, "tags": tags})
    request = AccessRequest({"base": "a"}, "read", user="u", access_time=1)
    assert (judge.evaluate(request).allowed, judge.evaluate(request).policy_id) == (False, 1)
    cell = CellFinder(judge).lookup(request)
    assert (cell.verdict, cell.decided_by) == (Verdict.DENIED, 1000)
    assert [one.policy_id for one in deciding(cell)] == [1000]
    assert [(one.policy_id, one.effective) for one in cell.allowing] == [(1, False)]


@pytest.mark.parametrize("kind", FEW)
def test_an_access_ends_exactly_if_all_items_of_some_removal_are_removed(kind: str) -> None:
    features, counted = features_of(kind), {"ends": 0, "stays": 0, "several": 0}

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        made = drawn_set(random, features)
        if made is None:
            return
        documents, judge = made
        # More ways to the same access than a random set has.
        for policy in documents["policies"]["policies"]:
            policy["policyItems"] += [item(random, features), item(random, features)]
        mode = "safe" if judge.view.options.fail_closed else "ranger"
        judge = engine(documents, mode)
        cells = CellFinder(judge)
        for request in some_requests(random, features, 12):
            cell = cells.lookup(request)
            assert (not cell.removals) == (cell.verdict is not Verdict.ALLOWED)
            if not cell.removals or len(cell.allowing) > MOST_ITEMS:
                continue
            counted["several"] += len(cell.ways) > 1
            removals = [{id(one) for one in removal} for removal in cell.removals]
            assert not any(one < other for one in removals for other in removals)
            assert {id(one) for one in cell.ways} == set().union(*removals)
            for chosen in subsets(cell.allowing):
                gone = {id(one) for one in chosen}
                ends = any(gone >= {id(one) for one in removal} for removal in cell.removals)
                rest = engine(without(documents, chosen), mode)
                if any(one.occurrences for one in cell.denying) and order(rest) != order(judge):
                    continue  # fewer items change Ranger's order, and the first policy after a denial by tags decides
                assert rest.evaluate(request).allowed is not ends, (
                    request,
                    [(one.policy_id, one.item) for one in chosen],
                )
                counted["ends" if ends else "stays"] += 1

    holds()
    assert min(counted.values()) > SETS // 2, counted


def order(of: PolicyEngine) -> list[int]:
    repositories = (of.view.default, *of.view.zones.values())
    policies = sorted((entry.compiled for one in repositories for entry in one.all()), key=lambda one: one.sort_key)
    return [one.id for one in policies]


def subsets(items: Collection[CellItem]) -> Iterator[tuple[CellItem, ...]]:
    return chain.from_iterable(combinations(items, n) for n in range(len(items) + 1))


@pytest.mark.parametrize("kind", ["plain", pytest.param("conditions+tags", marks=pytest.mark.slow)])
def test_a_cell_depends_exactly_if_circumstances_change_the_answer(kind: str) -> None:
    features, counted = features_of(kind), dict.fromkeys(Verdict, 0)

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        made = drawn_set(random, features)
        if made is None:
            return
        _, judge = made
        cells = CellFinder(judge)
        answers: dict[tuple[object, ...], set[bool]] = {}
        for access in ACCESSES:
            for request in requests(features, access):
                if request.owner is None:
                    key = (request.user, request.groups, tuple(request.resource.items()), access)
                    answers.setdefault(key, set()).add(judge.evaluate(request).allowed)
        for key in random.sample(list(answers), ASKED):
            user, groups, place, access = key
            cell: Cell = cells.cell(Subject(user, groups), dict(place), access)
            counted[cell.verdict] += 1
            if cell.verdict is not Verdict.UNDECIDED:
                allowed = {Verdict.ALLOWED: {True}, Verdict.CONDITIONAL: {True, False}}.get(cell.verdict, {False})
                assert answers[key] <= allowed, key
                assert bool(cell.removals) == (True in allowed)

    holds()
    assert counted[Verdict.ALLOWED] > SETS
    assert (counted[Verdict.CONDITIONAL] > SETS) == ("conditions" in features), counted
