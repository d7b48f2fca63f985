"""Policies of zones whose resources are not known: what the zones would decide is undecided, never allowed nor denied.

The sets are drawn with their zones, which are then taken away: whatever is certain without them is what they decide,
and so it would be with any other zones of these names.
"""

from __future__ import annotations

import copy
from collections import Counter
from random import Random
from typing import Literal

import pytest
from hypothesis import given

from ranger_cdap.engine import AccessRequest, PolicyEngine, Verdict
from ranger_cdap.tools.analysis.access_paths import CellFinder
from ranger_cdap.tools.analysis.effective_access import AccessScope, effective_access
from ranger_cdap.tools.analysis.impact import impact
from ranger_cdap.tools.analysis.subject import Subject
from tests.tools.analysis.small_sets import ACCESSES, Json, engine, resource, scenario
from tests.tools.analysis.test_effective_access_laws import drawn_set, paths
from tests.tools.analysis.test_impact_laws import SETS, drawn, features_of, randoms, some_requests

KINDS = ["zones", pytest.param("conditions+macros+zones+tags+super", marks=pytest.mark.slow)]


def without_zones(documents: Json) -> Json:
    """The documents as a file gives them that has the policies of zones, and not the zones."""
    left = copy.deepcopy(documents)
    for zone in left["policies"]["securityZones"].values():
        zone |= {"resources": [], "containsAssociatedTagService": False}
    left["policies"]["zonesKnown"] = False
    return left


def zoned_otherwise(random: Random, documents: Json) -> Json:
    """The documents with other resources of the zones, and possibly one more zone."""
    other = copy.deepcopy(documents)
    zones = other["policies"]["securityZones"]
    zones |= {"without policies": {"zoneName": "without policies"}} if random.random() < 0.5 else {}
    for zone in zones.values():
        levels = resource(random, frozenset())
        zone["resources"] = [{name: level["values"] for name, level in levels.items()}]
        zone["containsAssociatedTagService"] = random.random() < 0.5
    return other


def sets(random: Random, kind: str) -> tuple[PolicyEngine, list[PolicyEngine]] | None:
    made = drawn_set(random, features_of(kind))
    if made is None or not made[0]["policies"]["securityZones"]:
        return None
    documents, known = made
    mode: Literal["safe", "ranger"] = known.view.options.compatibility
    others = [engine(zoned_otherwise(random, documents), mode) for _ in range(3)]
    return engine(without_zones(documents), mode), [known, *others]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_certain_without_zones_is_so_with_any(kind: str) -> None:
    counted = Counter[str]()

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        if (made := sets(random, kind)) is None:
            return
        unknown, known = made
        for request in some_requests(random, features_of(kind)):
            found, answers = unknown.evaluate(request), {one.evaluate(request).allowed for one in known}
            assert unknown.explain(request).determined is found.determined
            assert not found.allowed or found.determined
            assert not found.determined or answers == {found.allowed}, (request, found)
            counted[f"{found.allowed} {found.determined}"] += 1
            if not found.allowed and not found.determined:
                assert found.reason == "the security zones are not known"
            entry = unknown.access_entry(request)
            allowed = entry is not None and entry.verdict is Verdict.ALLOWED
            assert not allowed or answers == {True}

    holds()
    assert min(counted["False False"], counted["False True"]) > SETS, counted


@pytest.mark.parametrize("kind", KINDS)
def test_a_tool_neither_allows_nor_denies_what_zones_decide(kind: str) -> None:
    counted = Counter[str]()

    @drawn
    @given(randoms)
    def holds(random: Random) -> None:
        if (made := sets(random, kind)) is None:
            return
        unknown, known = made
        found = effective_access(unknown, AccessScope(ACCESSES, paths(unknown), {}, None))
        assert found.contradictions == ()
        for row in found.allowed:
            counted["exact" if row.witness else "open"] += 1
            assert row.witness is None or all(row.witness.put_to(one) for one in known)
        assert all(row.witness is None for row in found.taken)
        cells = CellFinder(unknown)
        for request in random.sample(list(some_requests(random, features_of(kind))), 20):
            place = {name: str(value) for name, value in request.resource.items()}
            subject = Subject(request.user, request.groups, owner=request.owner)
            verdict = cells.cell(subject, place, request.access_type).verdict
            counted[verdict] += 1
            answers = {one.evaluate(request).allowed for one in known}
            assert verdict not in (Verdict.DENIED, Verdict.NO_POLICY) or answers == {False}, request
            assert verdict is not Verdict.ALLOWED or answers == {True}, request

    holds()
    assert min(counted["open"], counted[Verdict.UNDECIDED], counted[Verdict.NO_POLICY]) > SETS, counted


@drawn
@given(randoms)
def test_no_change_is_certain_to_what_zones_decide(random: Random) -> None:
    if (made := sets(random, "zones")) is None:
        return
    unknown, (known, *_) = made
    for one, other in ((unknown, known), (known, unknown)):
        found = impact(one, other)
        assert found.contradictions == ()
        assert [row for row in (*found.gained, *found.lost) if not row.doubts] == []
    same = impact(unknown, unknown)
    assert (same.gained, same.lost) == ((), ())


def test_a_request_that_no_zone_can_allow_is_denied() -> None:
    documents = scenario(Random(3), features_of("zones"))
    documents["policies"]["securityZones"] = {"z": {"zoneName": "z", "resources": [], "policies": []}}
    stranger = engine(without_zones(documents)).evaluate(AccessRequest({"base": "a"}, "read", user="nobody"))
    assert (stranger.allowed, stranger.determined, stranger.reason) == (False, True, "")
