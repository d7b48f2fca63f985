"""Matchers of levels of paths and URLs (ranger-semantics.md §5.1.2).

A path is covered only if Java's look-up finds the policy by the beginning of one of its values, as the request writes
it (§20): the matcher alone would take adjacent separators for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

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
from ranger_cdap.engine.compiled.matcher import (
    PatternKind,
    ResourceMatcher,
    Tokens,
    Value,
    ValueTest,
    asks_for_all,
    is_dynamic,
    passes,
)
from ranger_cdap.engine.compiled.service_def import LevelKind, LevelOptions
from ranger_cdap.engine.model.request import ElementScope

LookUp = tuple[str, bool]
"""Beginning by which Java's look-up finds a level, folded if the level ignores case; True if it has to be all of it."""


class PathMatcher(ResourceMatcher, frozen=True, gc=False):
    """Matcher of paths: the default one, and what is directly below a value; without `look_up` its values are meant."""

    look_up: tuple[LookUp, ...] = ()

    def covers_child(self, value: Value, tokens: Tokens) -> bool:
        """Return True if a value matches, or a child of it (element scope SELF_OR_CHILD)."""
        return self._covers(value, tokens, ElementScope.SELF_OR_CHILD, self._covers_child_one)

    def _covers(
        self, value: Value, tokens: Tokens, scope: ElementScope, also: Callable[[str, Tokens], bool] | None = None
    ) -> bool:
        if self.match_any:
            return not self.excludes
        all_asked = asks_for_all(value)
        if all_asked and scope is not ElementScope.SELF_OR_PREFIX:
            return False
        values = (value,) if isinstance(value, str) else value
        hit = any(self._covers_one(v, tokens) or (also is not None and also(v, tokens)) for v in values)
        return (hit and is_found(self, value, scope)) is not (self.excludes and not all_asked)

    def _covers_child_one(self, value: str, tokens: Tokens) -> bool:
        separator = self.options.separator
        for test in self._whole_tests():
            text = self._raw(test, tokens, folded=False)
            text = text.removesuffix(separator) if test.kind is PatternKind.AT_OR_BELOW else text
            if path_match.is_below_directly(text, value, separator, partial(self._is_equal, test.kind)):
                return True
        return False

    def _is_equal(self, kind: PatternKind, parent: str, value: str) -> bool:
        if kind is PatternKind.GLOB_OR_BELOW:
            return path_match.matches_path(parent, value, self.options.separator, self._fold)
        parent, value = self._fold(parent), self._fold(value)
        if kind is PatternKind.AT_OR_BELOW:
            return parent == value
        return passes(kind, wildcard.normalise(parent) if kind is PatternKind.GLOB else parent, value)

    def _whole_tests(self) -> Iterable[ValueTest]:
        return self.tests

    def _fold(self, text: str) -> str:
        return fold(text) if self.options.ignore_case else text


class RecursiveMatcher(PathMatcher, frozen=True, gc=False):
    """Matcher of paths or URLs and of what is below them."""

    @property
    def recursive(self) -> bool:
        """Return True."""
        return True

    @property
    def prefixes(self) -> frozenset[str]:
        """Prefixes of which every matching value has one, folded if the level ignores case."""
        return frozenset(("",)) if self.excludes else frozenset([prefix for prefix, _ in self.look_up])

    def covers(self, value: Value, tokens: Tokens) -> bool:
        """Return True if the level covers the requested value."""
        return self._covers(value, tokens, ElementScope.SELF)

    def covers_prefix(self, value: Value, tokens: Tokens) -> bool:
        """Return True if the level covers the value or something it is a prefix of (element scope SELF_OR_PREFIX)."""
        return self._covers(value, tokens, ElementScope.SELF_OR_PREFIX, self._covers_prefix_one)

    def _covers_one(self, value: str, tokens: Tokens) -> bool:
        return any(self._passes(test, value, tokens) for test in self.several_tests)

    def _passes(self, test: ValueTest, value: str, tokens: Tokens) -> bool:
        kind, text = test.kind, self._raw(test, tokens, folded=False)
        if kind is PatternKind.AT_OR_BELOW:
            return path_match.is_at_or_below(text, value, self.options.separator, self._fold)
        if kind is PatternKind.GLOB_OR_BELOW:
            matches = path_match.matches_path if self.options.kind is LevelKind.PATH else path_match.matches_url
            return matches(text, value, self.options.separator, self._fold)
        return passes(kind, self._fold(text), self._fold(value))

    def _covers_prefix_one(self, value: str, tokens: Tokens) -> bool:
        value = self._fold(value)
        for test in self._whole_tests():
            text = self._raw(test, tokens, folded=self.options.ignore_case)
            if self.options.kind is LevelKind.URL and test.kind is PatternKind.AT_OR_BELOW:
                if text.startswith(value):
                    return True
            elif wildcard.matches_prefix(text, value):
                return True
        return False

    def _covers_child_one(self, value: str, tokens: Tokens) -> bool:
        return self.options.kind is LevelKind.PATH and PathMatcher._covers_child_one(self, value, tokens)

    def _whole_tests(self) -> Iterable[ValueTest]:
        return [recursive_test(value, self.options) for value in self.several_values]


def is_found(element: ResourceMatcher, value: Value, scope: ElementScope) -> bool:
    """Return True if Java's look-up of a value finds a level by one of its values."""
    if element.match_any or element.excludes:
        return True
    separator, look_up = element.options.separator, look_ups(element)
    for one in (value,) if isinstance(value, str) else value or ("",):
        asked = fold(one) if element.options.ignore_case else one
        for prefix, whole in look_up:
            if asked == prefix or (not whole and asked.startswith(prefix)):
                return True
            if scope is ElementScope.SELF_OR_PREFIX and prefix.startswith(asked):
                return True
            if scope is ElementScope.SELF_OR_CHILD and path_match.is_looked_up_below(prefix, asked, separator):
                return True
    return False


def look_ups(element: ResourceMatcher) -> Sequence[LookUp]:
    """Return the beginnings by which Java's look-up finds a level that neither excludes values nor matches all."""
    if isinstance(element, PathMatcher) and element.look_up:
        return element.look_up
    return [_look_up(value, element.options) for value in element.values]


def found_by(element: ResourceMatcher, look_up: Iterable[LookUp]) -> ResourceMatcher:
    """Return a level of a policy that Java's look-up finds by the values of several resources."""
    if isinstance(element, RecursiveMatcher):
        return recursive_matcher(element.values, element.excludes, element.options, tuple(look_up))
    return structs.replace(element, look_up=tuple(look_up)) if isinstance(element, PathMatcher) else element


def _look_up(value: str, options: LevelOptions) -> LookUp:
    prefix = next((value[:n] for n, c in enumerate(value) if c in options.special), value)
    return fold(prefix) if options.ignore_case else prefix, prefix == value


def recursive_test(value: str, options: LevelOptions) -> ValueTest:
    """Return the test of a value of a recursive level; to one that ends with a separator Ranger appends a star."""
    text = value + "*" if options.wildcards and value.endswith(options.separator) else value
    kind = PatternKind.AT_OR_BELOW
    if options.wildcards and path_match.is_pattern(text):
        kind = PatternKind.GLOB_OR_BELOW
    return ValueTest(kind, text, is_dynamic(text, options))


def recursive_matcher(
    values: Iterable[str], excludes: bool, options: LevelOptions, look_up: tuple[LookUp, ...] = ()
) -> RecursiveMatcher:
    """Compile the values of a recursive level; no values, or a value `*`, match everything."""
    given = tuple(dict.fromkeys(values))
    kept = tuple([value for value in given if value])
    wholes = [recursive_test(value, options) for value in kept]
    match_any = not kept or (options.wildcards and any(whole.text == "*" for whole in wholes))
    alone = len(given) == 1 and not look_up
    look_up = look_up or tuple([(_look_up(value, options)[0], False) for value in given])
    tests: list[ValueTest] = []
    for whole in () if match_any else wholes:
        tests += _simple_tests(whole, options, alone=alone) or (whole,)
    cost = sum((_cost(test, options) for test in tests), FREE)
    if tests and options.ignore_case:
        cost += cost_of_folding(test.text for test in tests)
    return RecursiveMatcher(options, kept, tuple(tests), match_any, excludes, None, cost, look_up=look_up)


def _simple_tests(whole: ValueTest, options: LevelOptions, *, alone: bool) -> tuple[ValueTest, ...]:
    """Return tests of the default matcher with the same result; none if there are none.

    A pattern has one if it is only a beginning, and `alone`: Java may find others where it would not find this one.
    """
    text, separator = whole.text, options.separator
    if whole.dynamic:
        return ()
    if whole.kind is PatternKind.AT_OR_BELOW:
        if text.endswith(separator):
            return ()
        return ValueTest(PatternKind.EQUALS, text, False), ValueTest(PatternKind.STARTS_WITH, text + separator, False)
    start = text.rstrip("*")
    if not alone or options.kind is LevelKind.URL or not start or path_match.is_pattern(start):
        return ()
    if separator * 2 in start or (start.endswith(separator) and text != start + "*"):
        return ()
    return (ValueTest(PatternKind.STARTS_WITH, start, False),)


def _cost(test: ValueTest, options: LevelOptions) -> Cost:
    if test.kind is not PatternKind.GLOB_OR_BELOW:
        cost = cost_of_text(test.text)
    else:
        glob = wildcard.normalise(test.text)
        cost = cost_of_glob(glob) + cost_of_text(test.text)
        cost += cost_of_beginnings(glob, test.text.count(options.delimiter_start) * test.dynamic)
    if test.dynamic:
        macros = test.text.count(options.delimiter_start)
        cost += cost_of_macros(test.text, macros, glob=test.kind is PatternKind.GLOB_OR_BELOW)
    return cost
