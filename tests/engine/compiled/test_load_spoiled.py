"""Law: making any part of a download unreadable allows nothing that was denied before; or the download is refused.

Not unreadable, but another download: a null field (the same as a missing one), another text where any text is right,
a number of the same range for a number, digits in quotes for a number, a whole number for a boolean, an object for an
object, an empty list for a list.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.engine import AccessRequest
from ranger_cdap.errors import PolicySetError
from tests.engine.fixtures import RANGER
from tests.engine.whole_download import REQUESTS, WHOLE, Json, Place, build, part, places, spoiled

PLACES = list(places(WHOLE))
SECTIONS = sorted({place[:2] for place in PLACES if len(place) > 1})
TEXTS = ("0", "1", "null", "tRUE")
"""No text of a boolean, of an object or of a list."""

TOO_LARGE = (2**31, -(2**31) - 1, 2**63, -(2**63) - 1)
INTS = {"policyPriority", "policyType", "days", "hours", "minutes"}
"""Fields of 32 bits; other numbers have 64."""

GARBAGE: tuple[Any, ...] = (None, "garbage", 1.5, [None], *TEXTS, *TOO_LARGE)
BAD_IDS = ("07", "+7", " 7", "7.0", "x", "", str(2**63))

FREE_TEXT = {"name", "users", "groups", "roles", "values", "zoneName", "serviceName", "auditMode", "op", "id"}
FREE_TEXT |= {"serviceConfig", "impliedGrants", "tags"}  # of a tag the type is its name
OF_OBJECTS = {"resources", "securityZones", "tags", "resourceToTagIds", "resourceElements"}
"""Maps, in which a null is no missing field."""


def denied(whole: Json) -> list[AccessRequest]:
    engine = build(whole)
    return [request for request in REQUESTS if not engine.evaluate(request).allowed]


DENIED = denied(WHOLE)


def is_unreadable(place: Place, garbage: Any) -> bool:
    before, holder, path = part(WHOLE, place), part(WHOLE, place[:-1]), place[1:]
    if garbage is None:
        return (
            isinstance(holder, list)
            or bool(OF_OBJECTS & set(path[-2:-1]))
            or path[-3:-2] == ("additionalResources",)
            or (path[:1] == ("securityZones",) and path[2:] == ("resources",))
        )
    if garbage in TEXTS and isinstance(before, int):
        return isinstance(before, bool) or not garbage.isdigit()
    if type(garbage) is int and isinstance(before, int):
        limit = 2**31 if path[-1] in INTS else 2**63
        return not isinstance(before, bool) and not -limit <= garbage < limit
    if garbage in TEXTS and "schedule" in path:
        return False  # its fields are texts of numbers
    if isinstance(before, str) and isinstance(garbage, str):
        return not FREE_TEXT & set(path) and not ("securityZones" in path and "policies" not in path)
    return type(before) is not type(garbage) or not isinstance(before, int | float)


@pytest.mark.slow
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: ".".join(section))
def test_an_unreadable_part_allows_nothing(section: Place) -> None:
    tried = 0
    for place in PLACES:
        for garbage in GARBAGE if place[: len(section)] == section else ():
            if not is_unreadable(place, garbage):
                continue
            tried += 1
            try:
                engine = build(spoiled(WHOLE, place, garbage))
            except PolicySetError:
                continue
            newly = [request for request in DENIED if engine.evaluate(request).allowed]
            assert newly == [], (place, garbage)
    assert tried


@pytest.mark.parametrize("bad", BAD_IDS)
@pytest.mark.parametrize("table", ["tags", "resourceToTagIds"])
def test_an_unreadable_id_as_key_allows_nothing(table: str, bad: str) -> None:
    for key in WHOLE["tags"][table]:
        entries = {bad if one == key else one: value for one, value in WHOLE["tags"][table].items()}
        try:
            engine = build(spoiled(WHOLE, ("tags", table), entries))
        except PolicySetError:
            continue
        assert [request for request in DENIED if engine.evaluate(request).allowed] == []


PROFILE = settings(
    max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4) | st.just("x" * 9999),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
changes = st.tuples(st.sampled_from(PLACES), anything)


@PROFILE
@given(st.lists(changes, min_size=1, max_size=4))
def test_whatever_stands_anywhere_a_download_is_refused_or_decides_without_failing(
    drawn: list[tuple[Any, Any]],
) -> None:
    whole: Any = WHOLE
    for place, value in drawn:
        try:
            part(whole, place)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change has taken it away
        whole = spoiled(whole, place, value)
    for options in (None, RANGER):
        try:
            engine = build(whole, options) if options else build(whole)
        except PolicySetError:
            continue
        for request in REQUESTS[::17]:
            assert engine.explain(request).allowed is engine.evaluate(request).allowed
        engine.who_can({"hall": "h"})
        assert all(str(problem).isprintable() for problem in engine.problems)


@PROFILE
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(GARBAGE)), min_size=2, max_size=5))
def test_several_unreadable_parts_allow_nothing_either(drawn: list[tuple[Place, Any]]) -> None:
    whole: Any = WHOLE
    for place, garbage in sorted(drawn, key=lambda change: len(change[0]), reverse=True):
        whole = spoiled(whole, place, garbage) if is_unreadable(place, garbage) else whole
    try:
        engine = build(whole)
    except PolicySetError:
        return
    assert [request for request in DENIED if engine.evaluate(request).allowed] == []
