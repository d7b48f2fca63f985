"""Compilation of a policy's values for one level (ranger-semantics.md §5.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from msgspec import structs

from ranger_cdap.engine.compiled import path_match, wildcard
from ranger_cdap.engine.compiled.cost import (
    FREE,
    Cost,
    cost_of_beginnings,
    cost_of_folding,
    cost_of_glob,
    cost_of_macros,
    cost_of_text,
)
from ranger_cdap.engine.compiled.java import fold
from ranger_cdap.engine.compiled.matcher import EXPRESSION, PatternKind, ResourceMatcher, ValueTest, is_dynamic
from ranger_cdap.engine.compiled.path_matcher import LookUp, PathMatcher, look_ups_of, recursive_test
from ranger_cdap.engine.compiled.service_def import LevelKind, LevelOptions
from ranger_cdap.ranger_model.policy import PolicyResource


def compile_level(resource: PolicyResource, options: LevelOptions) -> ResourceMatcher:
    """Compile a level of a policy's resource; whether it is recursive counts for paths and URLs only."""
    if resource.is_recursive and options.kind is not LevelKind.DEFAULT:
        options = _recursive(options)
    return compile_element(resource.values, resource.is_excludes, options)


@cache
def _recursive(options: LevelOptions) -> LevelOptions:
    return replace(options, recursive=True, quoted_case_sensitive=False)


def compile_element(
    values: Iterable[str], excludes: bool, options: LevelOptions, look_up: tuple[LookUp, ...] = ()
) -> ResourceMatcher:
    """Compile values for one level; no values, or a value of stars only, match everything.

    If `look_up` is given, Java's look-up finds the policy by it, not by these values.
    """
    given = tuple(dict.fromkeys(values))
    kept = tuple(filter(None, given))
    if len(kept) == 1 and not excludes and _is_plain(kept[0], options):
        single = fold(kept[0]) if options.ignore_case else kept[0]
        matcher = ResourceMatcher(options, (), (), False, False, None, FREE, kept[0], single)
    else:
        matcher = _several(kept, excludes, options, alone=len(given) == 1 and not look_up and not excludes)
    if options.kind is LevelKind.DEFAULT:
        return matcher
    return PathMatcher(**structs.asdict(matcher), look_up=look_up or look_ups_of(given, options))


def _several(kept: tuple[str, ...], excludes: bool, options: LevelOptions, *, alone: bool) -> ResourceMatcher:
    match_any = not kept
    if options.wildcards:
        match_any = match_any or any(v == "*" if options.recursive else not v.strip("*") for v in kept)
    tests = () if match_any else tuple([test for v in kept for test in _tests(v, options, alone=alone)])
    simple = not (match_any or excludes or options.quoted_case_sensitive)
    exact = None
    if simple and all(t.kind is PatternKind.EQUALS and not t.dynamic for t in tests):
        exact = frozenset(fold(t.text) if options.ignore_case else t.text for t in tests)
        exact = None if exact & {"*"} else exact  # `*` in a request means all, never a literal star
    cost = FREE if exact is not None else sum((_cost(test, options) for test in tests), FREE)
    if cost is not FREE and options.ignore_case:
        cost += cost_of_folding(test.text for test in tests)
    return ResourceMatcher(options, kept, tests, match_any, excludes, exact, cost)


def _is_plain(value: str, options: LevelOptions) -> bool:
    """Return True if a value equals the values it covers, as nearly all do; a star never is a literal one."""
    return (
        "*" not in value
        and not (options.wildcards and "?" in value)
        and not options.recursive
        and not options.quoted_case_sensitive
        and not is_dynamic(value, options)
    )


def _cost(test: ValueTest, options: LevelOptions) -> Cost:
    cost = cost_of_glob(test.glob) if test.glob else cost_of_text(test.text)
    macros = test.text.count(options.delimiter_start) if test.dynamic else 0
    if test.kind is PatternKind.GLOB_OR_BELOW:
        cost += cost_of_beginnings(test.text, macros)
    return cost + cost_of_macros(test.text, macros, glob=bool(test.glob)) if test.dynamic else cost


def has_expression(values: Iterable[str], options: LevelOptions) -> bool:
    """Return True if a value contains `${{...}}`, which needs a JavaScript engine."""
    return options.replace_expressions and any(EXPRESSION in v for v in values)


def _tests(value: str, options: LevelOptions, *, alone: bool) -> tuple[ValueTest, ...]:
    """Return the tests of a value; a recursive one has those of the default matcher if they have the same result.

    So has a recursive pattern that is only a beginning, if it is the only value: Java may find others by their values
    where it would not find this one.
    """
    if not options.recursive:
        return (_value_test(value, options),)
    whole, separator = recursive_test(value, options), options.separator
    text, start = whole.text, whole.text.rstrip("*")
    if whole.dynamic:
        return (whole,)
    if whole.kind is PatternKind.AT_OR_BELOW and not text.endswith(separator):
        return ValueTest(PatternKind.EQUALS, text, False), ValueTest(PatternKind.STARTS_WITH, text + separator, False)
    is_start = bool(start) and not path_match.is_pattern(start) and separator * 2 not in start
    if alone and is_start and options.kind is LevelKind.PATH and (text == start + "*" or start[-1] != separator):
        return (ValueTest(PatternKind.STARTS_WITH, start, False),)
    return (whole,)


def _value_test(value: str, options: LevelOptions) -> ValueTest:
    dynamic = is_dynamic(value, options)
    if not options.wildcards or not ("*" in value or "?" in value):
        return ValueTest(PatternKind.EQUALS, value, dynamic)
    middle = value.strip("*")
    if "?" in value or "*" in middle or (value[0] == "*" and value[-1] == "*"):
        return ValueTest(PatternKind.GLOB, value, dynamic, wildcard.normalise(value))
    return ValueTest(PatternKind.ENDS_WITH if value[0] == "*" else PatternKind.STARTS_WITH, middle, dynamic)
