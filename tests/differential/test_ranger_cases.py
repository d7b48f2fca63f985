"""Ranger's own cases come out as Ranger expects, of its engine and of this project's, where its files are available."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from ranger_cdap.errors import PolicySetError
from ranger_cdap.expressions import script_conditions
from tests.differential.java_engine import JavaEngine
from tests.differential.our_engine import AS_RANGER, decide
from tests.differential.ranger_cases import (
    FOLDER,
    LEFT_OUT,
    PREFIX,
    SIMPLE_MATCHER,
    RangerCase,
    ranger_cases,
    simple_matcher,
)
from tests.ranger_source import MISSING, checkout, ranger_files

CASES = list(ranger_cases())
OPTIONS = replace(AS_RANGER, conditions={SIMPLE_MATCHER: simple_matcher, **script_conditions()})


def each(cases: Iterable[RangerCase]) -> pytest.MarkDecorator:
    """Parametrize a test with cases; without any it is skipped, and says what is missing."""
    missing = pytest.param(None, id="none", marks=pytest.mark.skip(reason=MISSING))
    return pytest.mark.parametrize("case", list(cases) or [missing], ids=str)


@pytest.mark.java
@each(case for case in CASES if case.file not in LEFT_OUT["not_java"])
def test_java_answers_as_ranger_expects(java_with_javascript: JavaEngine, case: RangerCase) -> None:
    assert case.wrong(java_with_javascript.decide(case.scenario)) == []


@each(case for case in CASES if case.file in LEFT_OUT["not_ours"])
def test_a_file_left_out_is_refused(case: RangerCase) -> None:
    with pytest.raises(PolicySetError, match="JavaScript"):
        decide(case.scenario, OPTIONS)


@each(case for case in CASES if case.file not in LEFT_OUT["not_ours"])
def test_our_engine_answers_as_ranger_expects(case: RangerCase) -> None:
    asked = case.without(LEFT_OUT["requests"].get(case.file, ()))
    assert asked.titles
    assert asked.wrong(decide(asked.scenario, OPTIONS)) == []


@each(case for case in CASES if case.file in LEFT_OUT["requests"])
def test_a_request_left_out_would_be_answered_differently(case: RangerCase) -> None:
    different = {name for name, _, _ in case.wrong(decide(case.scenario, OPTIONS))}
    assert different == set(LEFT_OUT["requests"][case.file])


@pytest.mark.skipif(checkout() is None, reason=MISSING)
def test_every_file_of_ranger_is_asked_or_has_a_reason() -> None:
    asked = {f"{PREFIX}{case.file}.json" for case in CASES}
    left_out = {f"{FOLDER}/{name}" for name in LEFT_OUT["files"]}
    assert asked | left_out >= set(ranger_files(FOLDER))
    assert not asked & left_out
    listed = {*LEFT_OUT["not_ours"], *LEFT_OUT["not_java"], *LEFT_OUT["requests"]}
    assert {f"{PREFIX}{name}.json" for name in listed} <= asked


def test_every_reason_is_a_sentence() -> None:
    tables = [LEFT_OUT["files"], LEFT_OUT["not_ours"], LEFT_OUT["not_java"], *LEFT_OUT["requests"].values()]
    assert all(len(reason) > 10 for table in tables for reason in table.values())
    assert all(Path(name).suffix == ".json" for name in LEFT_OUT["files"])
