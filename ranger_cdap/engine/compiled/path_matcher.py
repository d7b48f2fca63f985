"""Matcher of a level of paths or URLs (ranger-semantics.md §5.1.2).

A path is covered only if Java's look-up finds the policy by the beginning of one of its values, as the request writes
it (§20): the matcher alone would take adjacent separators for one.
"""

from __future__ import annotations

from collections.abc import Iterable

from ranger_cdap.engine.compiled import path_match, wildcard
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

ALWAYS: tuple[LookUp, ...] = (("", False),)


class PathMatcher(ResourceMatcher, frozen=True, gc=False):
    """Matcher of a level of paths or URLs; `look_up` are the beginnings by which Java finds its policy."""

    look_up: tuple[LookUp, ...] = ()

    @property
    def prefixes(self) -> frozenset[str]:
        """Prefixes of which every matching value has one, folded if the level ignores case."""
        if self.excludes or not self.options.recursive:
            return super().prefixes
        return frozenset([prefix for prefix, _ in self.look_up])

    def covers(self, value: Value, tokens: Tokens) -> bool:
        """Return True if the level covers the requested value."""
        if self.options.recursive:
            return self.covers_scoped(value, tokens, ElementScope.SELF)
        return super().covers(value, tokens)

    def covers_scoped(self, value: Value, tokens: Tokens, scope: ElementScope | None) -> bool:
        """Return True if the level covers the value, or in the scope something below it."""
        if self.match_any:
            return not self.excludes
        all_asked = asks_for_all(value)
        if all_asked and scope is not ElementScope.SELF_OR_PREFIX:
            return False
        values = (value,) if isinstance(value, str) else value
        hit = any(self._covers_one(v, tokens) or self._covers_more(v, tokens, scope) for v in values)
        return (hit and is_found(self, value, scope)) is not (self.excludes and not all_asked)

    def _covers_one(self, value: str, tokens: Tokens) -> bool:
        if not self.options.recursive:
            return super()._covers_one(value, tokens)
        return any(self._passes(test.kind, self._raw(test, tokens, False), value) for test in self.several_tests)

    def _passes(self, kind: PatternKind, text: str, value: str) -> bool:
        separator = self.options.separator
        if kind is PatternKind.AT_OR_BELOW:
            return path_match.is_at_or_below(text, value, separator, self._fold)
        if kind is PatternKind.GLOB_OR_BELOW:
            matches = path_match.matches_path if self.options.kind is LevelKind.PATH else path_match.matches_url
            return matches(text, value, separator, self._fold)
        text, value = self._fold(text), self._fold(value)
        return passes(kind, wildcard.normalise(text) if kind is PatternKind.GLOB else text, value)

    def _covers_more(self, value: str, tokens: Tokens, scope: ElementScope | None) -> bool:
        if scope is ElementScope.SELF_OR_PREFIX and not self.options.recursive:
            return self._covers_prefix_one(value, tokens)
        tests = [recursive_test(v, self.options) for v in self.values] if self.options.recursive else self.tests
        texts = [(test.kind, self._raw(test, tokens, False)) for test in tests]
        if scope is ElementScope.SELF_OR_PREFIX:
            return any(self._begins(*one, self._fold(value)) for one in texts)
        return scope is ElementScope.SELF_OR_CHILD and any(self._is_parent(*one, value) for one in texts)

    def _begins(self, kind: PatternKind, text: str, value: str) -> bool:
        if self.options.kind is LevelKind.URL and kind is PatternKind.AT_OR_BELOW:
            return self._fold(text).startswith(value)
        return wildcard.matches_prefix(self._fold(text), value)

    def _is_parent(self, kind: PatternKind, text: str, value: str) -> bool:
        separator = self.options.separator
        if kind is PatternKind.AT_OR_BELOW:
            kind, text = PatternKind.EQUALS, text.removesuffix(separator)
        parent, found, _ = text.rpartition(separator)
        is_path = self.options.kind is LevelKind.PATH
        return bool(found) and is_path and self._passes(kind, parent, value.removesuffix(separator))

    def _fold(self, text: str) -> str:
        return fold(text) if self.options.ignore_case else text


def recursive_test(value: str, options: LevelOptions) -> ValueTest:
    """Return the test of a value of a recursive level; to one that ends with a separator Ranger appends a star."""
    text = value + "*" if options.wildcards and value.endswith(options.separator) else value
    if options.wildcards and path_match.is_pattern(text):
        return ValueTest(PatternKind.GLOB_OR_BELOW, text, is_dynamic(text, options), wildcard.normalise(text))
    return ValueTest(PatternKind.AT_OR_BELOW, text, is_dynamic(text, options))


def is_found(element: ResourceMatcher, value: Value, scope: ElementScope | None) -> bool:
    """Return True if Java's look-up of a value finds a level by one of its values."""
    asked = (value,) if isinstance(value, str) else value or ("",)
    asked = tuple(map(fold, asked)) if element.options.ignore_case else asked
    return any(
        one == prefix
        or (not whole and one.startswith(prefix))
        or (scope is ElementScope.SELF_OR_PREFIX and prefix.startswith(one))
        or (scope is ElementScope.SELF_OR_CHILD and path_match.is_below(prefix, one, element.options.separator))
        for one in asked
        for prefix, whole in look_ups(element)
    )


def look_ups(element: ResourceMatcher) -> Iterable[LookUp]:
    """Return the beginnings by which Java's look-up finds a level."""
    if element.match_any or element.excludes:
        return ALWAYS
    return element.look_up if isinstance(element, PathMatcher) else look_ups_of(element.values, element.options)


def look_ups_of(values: Iterable[str], options: LevelOptions) -> tuple[LookUp, ...]:
    """Return the beginnings of values before their first special character, by which Java's look-up finds them."""
    folds = fold if options.ignore_case else str
    cut = [(next((v[:n] for n, c in enumerate(v) if c in options.special), v), v) for v in values]
    return tuple([(folds(prefix), prefix == value and not options.recursive) for prefix, value in cut])
