"""A value for matchers is found exactly if there is one: against every text of a small alphabet."""

from __future__ import annotations

import time
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.engine.compiled.compile_level import compile_element, compile_level
from ranger_cdap.engine.compiled.matcher import PatternKind, ResourceMatcher
from ranger_cdap.engine.compiled.service_def import LevelKind, LevelOptions
from ranger_cdap.ranger_model.policy import PolicyResource
from ranger_cdap.tools.analysis.logic.level_values import UNDECIDED, conflict, find_value

LETTERS = "abAx"
TEXTS = ["".join(letters) for n in range(1, 6) for letters in product(LETTERS, repeat=n)]
patterns = st.lists(st.text("aab*?A", min_size=1, max_size=4), min_size=1, max_size=2)
options = st.builds(LevelOptions, ignore_case=st.booleans(), wildcards=st.sampled_from([True, True, True, False]))


def matchers(values: list[list[str]], option: LevelOptions) -> list[ResourceMatcher]:
    return [compile_element(each, False, option) for each in values]


@settings(max_examples=250, deadline=None, derandomize=True, database=None)
@given(st.lists(patterns, max_size=3), st.lists(patterns, max_size=3), options)
def test_a_value_is_found_exactly_if_there_is_one(
    inside: list[list[str]], outside: list[list[str]], option: LevelOptions
) -> None:
    covering, barred = matchers(inside, option), matchers(outside, option)

    def fits(text: str) -> bool:
        return all(m.covers(text, None) for m in covering) and not any(m.covers(text, None) for m in barred)

    found = find_value(covering, barred)
    if isinstance(found, str):
        assert found not in ("", "*")
        assert fits(found)
        return
    assert found is None
    assert not any(map(fits, TEXTS))
    ins, outs = conflict(covering, barred)
    assert find_value([covering[n] for n in ins], [barred[n] for n in outs]) is None


PATHS = ["".join(letters) for n in range(1, 7) for letters in product("a/b", repeat=n)]
path_values = st.lists(st.text("aab//*?", min_size=1, max_size=5), min_size=1, max_size=2)
path_levels = st.lists(st.builds(PolicyResource, values=path_values, is_recursive=st.booleans()), max_size=2)
path_options = st.builds(
    LevelOptions,
    ignore_case=st.booleans(),
    wildcards=st.sampled_from([True, True, True, False]),
    kind=st.sampled_from([LevelKind.PATH, LevelKind.PATH, LevelKind.URL]),
)


@settings(max_examples=250, deadline=None, derandomize=True, database=None)
@given(path_levels, path_levels, path_options)
def test_no_path_is_said_to_be_missing_that_exists_and_only_patterns_are_undecided(
    inside: list[PolicyResource], outside: list[PolicyResource], option: LevelOptions
) -> None:
    covering, barred = ([compile_level(one, option) for one in side] for side in (inside, outside))

    def fits(text: str) -> bool:
        return all(m.covers(text, None) for m in covering) and not any(m.covers(text, None) for m in barred)

    found = find_value(covering, barred)
    if isinstance(found, str):
        assert fits(found)
    elif found is None:
        assert not any(map(fits, PATHS))
    else:
        recursive = (PatternKind.AT_OR_BELOW, PatternKind.GLOB_OR_BELOW)
        assert any(test.kind in recursive for matcher in (*covering, *barred) for test in matcher.tests)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.lists(patterns, min_size=1, max_size=3), st.lists(patterns, max_size=3))
def test_without_steps_no_value_is_said_to_be_missing_that_exists(
    inside: list[list[str]], outside: list[list[str]]
) -> None:
    covering, barred = matchers(inside, LevelOptions()), matchers(outside, LevelOptions())
    if find_value(covering, barred, 0) is None:
        assert find_value(covering, barred) is None


def test_quotes_make_case_matter_only_where_the_value_begins_with_one() -> None:
    option = LevelOptions(quoted_case_sensitive=True)
    covering, barred = matchers([['"a*']], option), matchers([['"A*', '"ab*']], option)
    found = find_value(covering, barred)
    assert isinstance(found, str)
    assert found.startswith('"a')


def test_a_walk_ignores_case_where_the_matchers_do() -> None:
    barred = matchers([["q*", "*a*", "*n*", "*x*", "*_*", "*0*", "*7*", "*y*", "*z*"]], LevelOptions(ignore_case=True))
    covering = matchers([["*q*"]], LevelOptions(ignore_case=True))
    found = find_value(covering, barred)
    assert isinstance(found, str)
    assert covering[0].covers(found, None)
    assert not barred[0].covers(found, None)


def test_forty_overlapping_wildcards_have_a_common_value_soon() -> None:
    covering = matchers([[f"*x{n}*"] for n in range(40)], LevelOptions())
    started = time.monotonic()
    assert isinstance(find_value(covering, matchers([["*y*"], ["x*"]], LevelOptions())), str)
    assert time.monotonic() - started < 5


def test_a_walk_that_takes_too_many_steps_is_undecided() -> None:
    hard = matchers([["*a?????????b*"], ["*b?????????a*"], ["*?a?b?a"]], LevelOptions())
    assert find_value(
        hard, matchers([["*x*"], ["*aa*", "*bb*"], ["*q*", "*any*", "*_*", "*0*"]], LevelOptions()), 10
    ) in (UNDECIDED,)
