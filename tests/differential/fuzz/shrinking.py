"""The smallest scenario that shows the same kind of difference, and still is one that a Ranger Admin could send."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.differential.fuzz.judging import Verdict, compared
from tests.differential.fuzz.mixed import documents_of, policies_of
from tests.differential.minimise import minimise

Json = dict[str, Any]
Kind = frozenset[str]

NOT_A_SCENARIO = (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError)
"""Raised where what is left is none: a policy without what is looked at, a document that cannot be read."""

TELLING = frozenset({"allowed", "zone", "refused"})


def kinds(scenario: Json, verdict: Verdict) -> dict[int, Kind]:
    """For each request that is answered differently, or by which ours contradicts itself: in which fields."""
    found: dict[int, Kind] = {}
    for n in verdict.differing(scenario["requests"]):
        ours, theirs = verdict.ours.each[n], verdict.java[n]
        fields = frozenset(f for f in compared(scenario["requests"][n]) if ours.get(f) != theirs.get(f))
        found[n] = fields & TELLING or fields
    return found | {each["request"]: frozenset({"contradiction"}) for each in verdict.contradictions}


def shrunk(scenario: Json, judge: Callable[[Json], Verdict]) -> Json:
    """As little of the scenario as shows the same kind of difference: one request, if it differs on its own."""
    # No two places are one object, so that dropping from one leaves the other.
    whole: Json = json.loads(json.dumps(scenario))
    found = kinds(whole, judge(whole))
    if not found:
        return whole
    place = min(found, key=lambda n: (not found[n] & TELLING, n))

    def differs(smaller: Json) -> bool:
        return found[place] in kinds(smaller, judge(smaller)).values()

    alone = {**whole, "requests": [whole["requests"][place]]}
    start = alone if differs(alone) else whole
    is_left = is_whole(start)

    def still_differs(smaller: Json) -> bool:
        try:
            return is_left(smaller) and differs(smaller)
        except NOT_A_SCENARIO:
            return False

    return minimise(start, still_differs)


def is_whole(original: Json) -> Callable[[Json], bool]:
    """Return a test whether what is left is about the same: no level is lost that is still named, no value is gone."""
    known, asked = level_names(original), [request["resource"] for request in original["requests"]]
    empty = sum(map(is_empty, places(original)))

    def test(smaller: Json) -> bool:
        left = list(places(smaller))
        requests = [request["resource"] for request in smaller["requests"]]
        used = {name for levels in (*left, *requests, *filtered(smaller)) for name in levels}
        lost = (used & known) - level_names(smaller)
        return not lost and all(map(asked.__contains__, requests)) and sum(map(is_empty, left)) <= empty

    return test


def level_names(scenario: Json) -> set[str]:
    download = scenario["policies"]
    definitions = [each["serviceDef"] for each in (download, download.get("tagPolicies")) if each]
    return {level["name"] for definition in definitions for level in definition["resources"]}


def is_empty(levels: Mapping[str, Any]) -> bool:
    """Return True if there are no levels, or one of them has no values."""
    values = [level["values"] if isinstance(level, Mapping) else level for level in levels.values()]
    return not values or not all(any(each) for each in values)


def places(scenario: Json) -> Iterator[Mapping[str, Any]]:
    """The resources of policies, zones and tags."""
    for side in policies_of(scenario):
        for policy in side:
            if "resources" in policy:
                yield policy["resources"]
                yield from policy.get("additionalResources", ())
    for document in documents_of(scenario):
        for zone in document.get("securityZones", {}).values():
            yield from zone["resources"]
    for download in (scenario.get("tags"), scenario.get("laterTags")):
        for each in (download or {}).get("serviceResources", ()):
            yield each["resourceElements"]


def filtered(scenario: Json) -> Iterator[Mapping[str, Any]]:
    """The resources of audit filters."""
    download = scenario["policies"]
    for config in (each.get("serviceConfig", {}) for each in (download, download.get("tagPolicies", {}))):
        for one in json.loads(config.get("ranger.plugin.audit.filters", "[]")):
            yield one.get("resources", {})
