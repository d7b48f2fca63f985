"""The definitions that Ranger ships: mixed scenarios of each are decided as by its engine, where they are available."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.differential.definitions import CONDITION_DEFS
from tests.differential.fuzz.judging import judge
from tests.differential.fuzz.mixed import scenario
from tests.differential.fuzz.vocabulary import vocabulary
from tests.differential.java_engine import JavaEngine
from tests.fuzz.harness import INPUTS
from tests.ranger_source import MISSING, definitions

pytestmark = [pytest.mark.java, pytest.mark.skipif(not definitions(), reason=MISSING)]

Json = dict[str, Any]

FEWEST, AT_ONCE = 25, 4_000
"""Definitions of the release; inputs for one scenario of each."""


def drawn(definition: Json, number: int) -> Json:
    """A scenario whose conditions are those that need no JavaScript, and whose tags come from its own enricher."""
    given = deepcopy(definition) | {"policyConditions": CONDITION_DEFS, "contextEnrichers": []}
    return scenario(3, number, given)


def test_every_definition_of_ranger_decides_as_in_ranger(java: JavaEngine) -> None:
    words, found = vocabulary(), list[str]()
    for name, definition in definitions().items():
        for number in range(max(4, INPUTS * 25 // AT_ONCE)):
            asked = drawn(definition, number)
            if not words.wilful_of(asked):
                verdict = judge(asked, java, twice=number % 10 == 0)
                found += [f"{name} {number}: {n}" for n in verdict.differing(asked["requests"])]
                found += [f"{name} {number}: {one}" for one in verdict.contradictions]
    assert len(definitions()) >= FEWEST
    assert found == []
