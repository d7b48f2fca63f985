"""Every case of the corpus holds for Ranger's Java engine, and for this project's engine in both its modes."""

from __future__ import annotations

import pytest
from comparing import compared_fields
from corpus import Case, cases
from java_engine import JavaEngine
from our_engine import AS_RANGER, decide
from test_reference_engine import is_known, reference

from ranger_cdap.engine import EngineOptions

CASES = list(cases())
each_case = pytest.mark.parametrize("case", CASES, ids=str)


def wrong(case: Case, answers: list[dict[str, object]], *, by_us: bool = False) -> list[tuple[object, object, object]]:
    """Each ask whose answer is not as expected; only what the case says is looked at."""
    return [
        (ask["request"], expected, {field: answer.get(field) for field in expected})
        for ask, expected, answer in zip(case.asks, case.expected(by_us=by_us), answers, strict=True)
        if any(answer.get(field) != expected[field] for field in compared_fields(ask["request"], expected))
    ]


@pytest.mark.java
@each_case
def test_java_answers_as_the_corpus_says(java: JavaEngine, case: Case) -> None:
    assert wrong(case, java.decide(case.scenario)) == []


@pytest.mark.parametrize("case", [case for case in CASES if is_known(case.scenario)], ids=str)
def test_the_reference_engine_answers_as_the_corpus_says(case: Case) -> None:
    assert wrong(case, reference(case.scenario)) == []


@each_case
def test_our_engine_in_ranger_mode_answers_as_the_corpus_says(case: Case) -> None:
    assert wrong(case, decide(case.scenario, AS_RANGER)) == []


@each_case
def test_our_engine_answers_as_the_corpus_says_but_for_what_differs_on_purpose(case: Case) -> None:
    assert wrong(case, decide(case.scenario, EngineOptions()), by_us=True) == []


def test_every_rule_is_told_once() -> None:
    rules = [str(case) for case in CASES]
    assert len(rules) == len(set(rules))
