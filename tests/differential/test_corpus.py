"""Every case of the corpus holds for Ranger's Java engine, and for this project's engine in both its modes.

For that engine also by way of `ranger-cdap eval`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ranger_cdap.engine import EngineOptions
from tests.differential.comparing import compared_fields
from tests.differential.corpus import Case, cases
from tests.differential.eval_command import decide_by_eval, in_files
from tests.differential.java_engine import JavaEngine
from tests.differential.our_engine import AS_RANGER, answer, decide, load, load_by_steps, read_request
from tests.differential.test_reference_engine import is_known, reference
from tests.differential.who_can_table import claimed, contradicted, is_in_a_table

CASES = list(cases())
FILES = sorted({case.file for case in CASES})
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
    _, taken = load_by_steps(case.scenario, AS_RANGER)
    assert wrong(case, java.decide(case.scenario, taken)) == []


@pytest.mark.parametrize("case", [case for case in CASES if is_known(case.scenario)], ids=str)
def test_the_reference_engine_answers_as_the_corpus_says(case: Case) -> None:
    assert wrong(case, reference(case.scenario)) == []


@each_case
def test_our_engine_in_ranger_mode_answers_as_the_corpus_says(case: Case) -> None:
    assert wrong(case, decide(case.scenario, AS_RANGER)) == []


@each_case
def test_our_engine_answers_as_the_corpus_says_but_for_what_differs_on_purpose(case: Case) -> None:
    assert wrong(case, decide(case.scenario, EngineOptions()), by_us=True) == []


@each_case
@pytest.mark.parametrize("options", [EngineOptions(), AS_RANGER], ids=["safe", "ranger"])
def test_to_explain_is_to_evaluate(case: Case, options: EngineOptions) -> None:
    engine = load(case.scenario, options)
    for request in map(read_request, case.scenario["requests"]):
        assert answer(engine.explain(request)) == answer(engine.evaluate(request))


@pytest.mark.parametrize("case", [case for case in CASES if in_files(case.scenario)], ids=str)
def test_the_command_eval_answers_as_the_corpus_says(case: Case, tmp_path: Path) -> None:
    assert wrong(case, decide_by_eval(case.scenario, tmp_path, "ranger")) == []
    assert wrong(case, decide_by_eval(case.scenario, tmp_path, "safe"), by_us=True) == []


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("options", [EngineOptions(), AS_RANGER], ids=["safe", "ranger"])
def test_who_can_agrees_with_the_corpus(file: str, options: EngineOptions) -> None:
    claims, answers = [], []
    for case in (case for case in CASES if case.file == file):
        engine = load(case.scenario, options)
        for request, expected in zip(case.scenario["requests"], case.expected(by_us=options.fail_closed), strict=True):
            if is_in_a_table(engine, case.scenario, request):
                claims.append((request, claimed(engine, request)))
                answers.append(expected)
    assert contradicted(claims, answers) == []


def test_every_rule_is_told_once() -> None:
    rules = [str(case) for case in CASES]
    assert len(rules) == len(set(rules))
