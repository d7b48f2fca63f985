"""The reference engine is itself right: it answers as Ranger's Java engine does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest

from tests.differential.comparing import compare
from tests.differential.fuzz.mixed_paths import PATH, URL
from tests.differential.java_engine import JavaEngine
from tests.differential.reference_engine import evaluate
from tests.differential.reference_resources import expand, wildcard_match
from tests.differential.strategies import core_scenarios

Json = Mapping[str, Any]

pytestmark = pytest.mark.java

KNOWN = ("allowed", "determined", "policyId", "audited", "auditPolicyId")


UNKNOWN = (
    *("conditions", "validitySchedules", "securityZones", "tagPolicies"),
    *("serviceConfig", "auditMode", "elementScopes", "conf", "userStore"),
)


def reference(scenario: Json) -> list[dict[str, Any]]:
    roles = scenario.get("roles") or {}
    return [evaluate(scenario["policies"], roles, request) for request in scenario["requests"]]


def is_known(scenario: Json) -> bool:
    """Whether the reference engine knows everything the scenario is about."""
    text = json.dumps(scenario)
    of_paths = PATH in text or URL in text
    return not (scenario.get("deltas") or of_paths or any(f'"{key}"' in text for key in UNKNOWN))


def test_the_reference_engine_answers_as_java_does(java: JavaEngine) -> None:
    compare(core_scenarios(), reference, java.decide, at_least=6_000, known=KNOWN)


def load_values(java: JavaEngine, values: Sequence[str]) -> None:
    """One policy a value, told apart by the level above it: `row` is the number of the value."""
    matched = {"isValidLeaf": True, "matcherOptions": {"ignoreCase": "false"}}
    definition = {
        "name": "values",
        "resources": [
            {"name": "row", "level": 1, **matched},
            {"name": "value", "level": 2, "parent": "row", **matched},
        ],
        "accessTypes": [{"name": "read"}],
    }
    everybody = [{"groups": ["public"], "accesses": [{"type": "read"}]}]
    policies = [
        {
            "id": row,
            "name": str(row),
            "resources": {"row": {"values": [str(row)]}, "value": {"values": [value]}},
            "policyItems": everybody,
        }
        for row, value in enumerate(values)
    ]
    java.load({"policies": {"serviceName": "s", "policyVersion": 1, "serviceDef": definition, "policies": policies}})


def ask(row: int, text: str, **more: Any) -> Json:
    return {"resource": {"row": str(row), "value": text}, "accessType": "read", "user": "u", **more}


def test_every_short_pattern_matches_what_java_says(java: JavaEngine) -> None:
    patterns = ["".join(letters) for length in range(1, 6) for letters in product("*?a", repeat=length)]
    texts = ["".join(letters) for length in range(1, 5) for letters in product("ab", repeat=length)]
    load_values(java, patterns)
    answers = java.evaluate(ask(row, text) for row in range(len(patterns)) for text in texts)
    wrong = [
        (pattern, text, answer["allowed"])
        for (pattern, text), answer in zip(product(patterns, texts), answers, strict=True)
        if answer["allowed"] != wildcard_match(pattern, text)
    ]
    assert wrong == []


def test_every_short_text_with_braces_and_backslashes_expands_as_java_says(java: JavaEngine) -> None:
    values = ["".join(letters) for length in range(1, 6) for letters in product("{}\\a", repeat=length)]
    load_values(java, values)
    expanded = [expand(value, {"a": "Z"}) for value in values]
    answers = java.evaluate(ask(row, text, context={"token:a": "Z"}) for row, text in enumerate(expanded))
    wrong = [
        (value, text) for value, text, answer in zip(values, expanded, answers, strict=True) if not answer["allowed"]
    ]
    assert wrong == []
