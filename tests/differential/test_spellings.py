"""Spellings of booleans, numbers, ids and empty things: read as by Java, or refused; never read otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ranger_cdap.engine import EngineOptions
from ranger_cdap.errors import PolicySetError
from tests.differential.deliberate_differences import Difference
from tests.differential.java_engine import HarnessError, JavaEngine
from tests.differential.our_engine import AS_RANGER, decide
from tests.differential.small_documents import ASKED, OPEN, TAG_CLOSES, A, closed, tagged

Json = dict[str, Any]
Spelling = Callable[[Any], Json]

ALLOWED, DENIED, REFUSED = True, False, "refused"


def scenario(policies: list[Json], more: Json | None = None) -> Json:
    return Difference("", None, True, True, policies, more or {}, ASKED).scenario


def with_tags(**fields: Any) -> Json:
    given = tagged(TAG_CLOSES)
    return scenario([OPEN], {**given, "tags": {**given["tags"], **fields}})


def deny_all_else(value: Any) -> Json:
    return scenario([OPEN, {"resources": A, "policyItems": [], "isDenyAllElse": value}])


def enabled_denial(value: Any) -> Json:
    return scenario([OPEN, closed(isEnabled=value)])


def priority_of_denial(value: Any) -> Json:
    return scenario([{**OPEN, "policyPriority": -5}, closed(policyPriority=value)])


def linked(value: Any) -> Json:
    return scenario([OPEN], {"tagPolicies": value})


def resources_of_zone(value: Any) -> Json:
    return scenario([OPEN], {"securityZones": {"z": {"zoneName": "z", "resources": value, "policies": []}}})


def resources_of_zone_beside_deltas(value: Any) -> Json:
    zones = {"z": {"zoneName": "z", "resources": value, "policies": []}}
    return scenario([OPEN], {"securityZones": zones, "policyDeltas": []})


def tagged_resource(value: Any) -> Json:
    given = tagged()["tags"]["serviceResources"][0]
    return with_tags(serviceResources=[{**given, "id": value}])


def id_of_tagged_resource(value: str) -> Json:
    return with_tags(resourceToTagIds={value: [1]})


def id_of_tag(value: str) -> Json:
    return with_tags(tags={value: {"type": "T"}})


SPELLINGS: list[tuple[Spelling, Any, Any]] = [
    *[(deny_all_else, value, DENIED) for value in (True, "true", "True", "TRUE", " true ", 1, 2, -1)],
    *[(deny_all_else, value, ALLOWED) for value in (False, "false", "False", "FALSE", "false ", 0, None)],
    *[(deny_all_else, value, REFUSED) for value in ("0", "1", "tRUE", "yes", "t", 0.0, 1.0, 1.5, [], {})],
    *[(enabled_denial, value, REFUSED) for value in ("\u00a0false", "false\u2003", "\u3000", "\uff10")],
    *[(enabled_denial, value, ALLOWED) for value in ("\tfalse\n", "\x01False")],
    *[(priority_of_denial, value, REFUSED) for value in ("\u00a0-6", "- 6", "--6")],
    *[(enabled_denial, value, DENIED) for value in (True, "True", 1, None)],
    *[(enabled_denial, value, ALLOWED) for value in (False, "False", 0)],
    *[(enabled_denial, value, REFUSED) for value in ("0", "1", "fALSE", "no", 0.0, [])],
    *[(priority_of_denial, value, DENIED) for value in (0, "0", " 1", "+1", "01", 1.0, "-5", None)],
    *[(priority_of_denial, value, ALLOWED) for value in (-6, "-6", -(2**31))],
    *[(priority_of_denial, value, REFUSED) for value in (-(2**31) - 1, 2**31, str(-(2**31) - 1), "1.0", "-6x")],
    *[(priority_of_denial, value, REFUSED) for value in (False, True, [], {}, -(2**63) - 1, "1_0", "0x1")],
    *[(linked, value, REFUSED) for value in ("null", "", "{}", [], 0, False)],
    (linked, None, ALLOWED),
    (resources_of_zone, [], ALLOWED),
    (resources_of_zone, [{"r0": ["a"]}], DENIED),
    (resources_of_zone_beside_deltas, None, REFUSED),
    *[(resources_of_zone, value, REFUSED) for value in (None, [None], "null", {}, 0)],
    *[(tagged_resource, value, DENIED) for value in (7, "7", " 7", 7.0)],
    *[(tagged_resource, value, REFUSED) for value in (2**63, -(2**63) - 1, str(2**63), "x", True, "7.0")],
    *[(id_of_tagged_resource, key, REFUSED) for key in ("x", "", " 7", "7.0", str(2**63))],
    *[(id_of_tag, key, REFUSED) for key in ("x", "", "1.0", str(2**63))],
]
"""Where, what is written there, and Java's answer."""

STRICTER: list[tuple[Spelling, Any, Any]] = [
    *[(deny_all_else, value, ALLOWED) for value in ("", " ", "null")],
    *[(priority_of_denial, value, DENIED) for value in ("", "null", 1.5)],
    (priority_of_denial, "-\uff16", ALLOWED),
    *[(tagged_resource, value, ALLOWED) for value in ("", "null")],
    *[(id_of_tagged_resource, key, DENIED) for key in ("07", "+7")],
    *[(id_of_tag, key, DENIED) for key in ("01", "+1")],
]
"""As above, but refused here: compatibility.md, "In both modes"."""


def answered(scenario: Json, options: EngineOptions) -> Any:
    try:
        return decide(scenario, options)[0]["allowed"]
    except PolicySetError:
        return REFUSED


each = pytest.mark.parametrize(("where", "value", "expected"), SPELLINGS)
each_stricter = pytest.mark.parametrize(("where", "value", "expected"), STRICTER)


@pytest.mark.java
@pytest.mark.parametrize(("where", "value", "expected"), [*SPELLINGS, *STRICTER])
def test_java_reads_it_so(java: JavaEngine, where: Spelling, value: Any, expected: Any) -> None:
    if expected is REFUSED:
        with pytest.raises(HarnessError):
            java.decide(where(value))
    else:
        assert java.decide(where(value))[0]["allowed"] is expected


@each
def test_mode_ranger_answers_as_java(where: Spelling, value: Any, expected: Any) -> None:
    assert answered(where(value), AS_RANGER) == expected


@each
def test_safe_answers_as_java_and_never_allows_a_refused_one(where: Spelling, value: Any, expected: Any) -> None:
    got = answered(where(value), EngineOptions())
    assert got == expected or (expected is REFUSED and got is DENIED)


@each_stricter
def test_a_stricter_reading_never_allows_more(where: Spelling, value: Any, expected: Any) -> None:
    assert answered(where(value), AS_RANGER) == REFUSED
    assert answered(where(value), EngineOptions()) in (DENIED, REFUSED)
