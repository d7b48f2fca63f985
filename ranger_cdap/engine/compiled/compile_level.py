"""Compilation of a policy's values for one level (ranger-semantics.md §5.1)."""

from __future__ import annotations

from collections.abc import Iterable

from ranger_cdap.engine.compiled import wildcard
from ranger_cdap.engine.compiled.cost import FREE, Cost, cost_of_folding, cost_of_glob, cost_of_macros, cost_of_text
from ranger_cdap.engine.compiled.java import fold
from ranger_cdap.engine.compiled.matcher import EXPRESSION, PatternKind, ResourceMatcher, ValueTest, is_dynamic
from ranger_cdap.engine.compiled.path_matcher import PathMatcher, recursive_matcher
from ranger_cdap.engine.compiled.service_def import LevelKind, LevelOptions


def compile_element(
    values: Iterable[str], excludes: bool, options: LevelOptions, *, recursive: bool = False
) -> ResourceMatcher:
    """Compile a policy's values for one level; no values, or a value of stars only, match everything.

    `recursive` has an effect on paths and URLs only.
    """
    if recursive and options.kind is not LevelKind.DEFAULT:
        return recursive_matcher(values, excludes, options)
    kept = list(dict.fromkeys([v for v in values if v]))
    if len(kept) == 1 and not excludes and _is_plain(kept[0], options):
        return _equal_to(kept[0], options)
    match_any = not kept or (options.wildcards and any(not v.strip("*") for v in kept))
    tests = () if match_any else tuple([_value_test(v, options) for v in kept])
    simple = not (match_any or excludes or options.quoted_case_sensitive)
    exact = None
    if simple and all(t.kind is PatternKind.EQUALS and not t.dynamic for t in tests):
        exact = frozenset(fold(t.text) if options.ignore_case else t.text for t in tests)
        exact = None if exact & {"*"} else exact  # `*` in a request means all, never a literal star
    cost = FREE if exact is not None else sum((_cost(test, options) for test in tests), FREE)
    if cost is not FREE and options.ignore_case:
        cost += cost_of_folding(test.text for test in tests)
    return _class_of(options)(options, tuple(kept), tests, match_any, excludes, exact, cost)


def _equal_to(text: str, options: LevelOptions) -> ResourceMatcher:
    single = fold(text) if options.ignore_case else text
    return _class_of(options)(options, (), (), False, False, None, FREE, text, single)


def _class_of(options: LevelOptions) -> type[ResourceMatcher]:
    return PathMatcher if options.kind is LevelKind.PATH else ResourceMatcher


def _is_plain(value: str, options: LevelOptions) -> bool:
    """Return True if a value equals the values it covers, as nearly all do; a star never is a literal one."""
    return (
        "*" not in value
        and not (options.wildcards and "?" in value)
        and not options.quoted_case_sensitive
        and not is_dynamic(value, options)
    )


def _cost(test: ValueTest, options: LevelOptions) -> Cost:
    cost = cost_of_glob(test.glob) if test.kind is PatternKind.GLOB else cost_of_text(test.text)
    if test.dynamic:
        macros = test.text.count(options.delimiter_start)
        cost += cost_of_macros(test.text, macros, glob=test.kind is PatternKind.GLOB)
    return cost


def has_expression(values: Iterable[str], options: LevelOptions) -> bool:
    """Return True if a value contains `${{...}}`, which needs a JavaScript engine."""
    return options.replace_expressions and any(EXPRESSION in v for v in values)


def _value_test(value: str, options: LevelOptions) -> ValueTest:
    dynamic = is_dynamic(value, options)
    if not options.wildcards or not ("*" in value or "?" in value):
        return ValueTest(PatternKind.EQUALS, value, dynamic)
    middle = value.strip("*")
    if "?" in value or "*" in middle or (value[0] == "*" and value[-1] == "*"):
        return ValueTest(PatternKind.GLOB, value, dynamic, wildcard.normalise(value))
    return ValueTest(PatternKind.ENDS_WITH if value[0] == "*" else PatternKind.STARTS_WITH, middle, dynamic)
