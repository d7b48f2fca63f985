"""Ranger's own cases, where they are at hand, come out as Ranger says: of its engine and of this project's."""

from __future__ import annotations

import pytest
from java_engine import JavaEngine
from our_engine import AS_RANGER, decide
from ranger_cases import FOLDER, NEEDS, WITH_JAVASCRIPT, RangerCase, ranger_cases

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="Ranger's own test cases are not here")

LEFT_OUT = [pytest.param(None, id=name, marks=pytest.mark.skip(reason=reason)) for name, reason in NEEDS.items()]
each_case = pytest.mark.parametrize("case", [*ranger_cases(), *LEFT_OUT], ids=str)


@pytest.mark.java
@each_case
def test_the_harness_answers_as_ranger_says(request: pytest.FixtureRequest, case: RangerCase) -> None:
    judge: JavaEngine = request.getfixturevalue("java_with_javascript" if case.name in WITH_JAVASCRIPT else "java")
    assert case.wrong(judge.decide(case.scenario)) == []


@each_case
def test_our_engine_answers_as_ranger_says(case: RangerCase) -> None:
    ours = case.without_matchers()
    assert ours.wrong(decide(ours.scenario, AS_RANGER)) == []
