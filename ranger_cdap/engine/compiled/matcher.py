"""Matching of one level of a policy's resource with one level of a request (ranger-semantics.md §5.1, §5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from ranger_cdap.engine.compiled import wildcard
from ranger_cdap.engine.compiled.cost import FREE, Cost
from ranger_cdap.engine.compiled.java import fold
from ranger_cdap.engine.compiled.service_def import LevelOptions
from ranger_cdap.engine.model.request import ElementScope

Tokens = Mapping[str, str] | None
"""Values of macros by name; None disables their replacement."""

EXPRESSION = "${{"
"""Beginning of a JavaScript expression."""

Value = str | tuple[str, ...]
"""Level of a request: one value, or several of which one must match."""


class PatternKind(Enum):
    """Comparison of a policy value; derived from the raw value, so a macro never adds a wildcard.

    The last two are those of recursive levels (§5.1.2).
    """

    EQUALS = 1
    STARTS_WITH = 2
    ENDS_WITH = 3
    GLOB = 4
    AT_OR_BELOW = 5
    GLOB_OR_BELOW = 6


_NO_PREFIX = (PatternKind.ENDS_WITH, PatternKind.AT_OR_BELOW, PatternKind.GLOB_OR_BELOW)


class ValueTest(msgspec.Struct, frozen=True, gc=False):
    """Compiled policy value.

    `text` has no leading or trailing stars except for a glob, also a recursive one; `glob` is a glob's normal form.
    """

    kind: PatternKind
    text: str
    dynamic: bool
    glob: str = ""

    @property
    def literal_prefix(self) -> str:
        """Prefix of every matching value, as far as it is known before macros are replaced."""
        if self.dynamic or self.kind in _NO_PREFIX:
            return ""
        if self.kind is not PatternKind.GLOB:
            return self.text
        ends = [i for i in (self.text.find("*"), self.text.find("?")) if i >= 0]
        return self.text[: min(ends)] if ends else self.text


class ResourceMatcher(msgspec.Struct, frozen=True, gc=False):
    """Matcher of one level.

    A level that covers one plain value, as nearly all do, has only its `text` and, folded, its `single` value: a set of
    policies has one such level for each policy, and what it does not hold the garbage collector does not look through.
    """

    options: LevelOptions
    several_values: tuple[str, ...]
    several_tests: tuple[ValueTest, ...]
    match_any: bool
    excludes: bool
    several_exact: frozenset[str] | None
    cost: Cost = FREE
    text: str = ""
    single: str | None = None

    @property
    def values(self) -> tuple[str, ...]:
        """Values of the policy."""
        return self.several_values if self.single is None else (self.text,)

    @property
    def tests(self) -> tuple[ValueTest, ...]:
        """Tests of which one must hold."""
        if self.single is None:
            return self.several_tests
        return (ValueTest(PatternKind.EQUALS, self.text, False),)

    @property
    def exact(self) -> frozenset[str] | None:
        """Folded values if membership in this set is the whole test."""
        return self.several_exact if self.single is None else frozenset((self.single,))

    @property
    def matches_nothing(self) -> bool:
        """Return True if the level excludes everything."""
        return self.match_any and self.excludes

    @property
    def dynamic(self) -> bool:
        """Return True if the result depends on macros."""
        return not self.match_any and any(t.dynamic for t in self.several_tests)

    def covers(self, value: Value, tokens: Tokens) -> bool:
        """Return True if the level covers the requested value."""
        if self.match_any:
            return not self.excludes
        if asks_for_all(value):
            return False
        if self.single is not None and type(value) is str:
            return (fold(value) if self.options.ignore_case else value) == self.single
        if self.several_exact is not None and type(value) is str:
            return (fold(value) if self.options.ignore_case else value) in self.several_exact
        hit = any(self._covers_one(v, tokens) for v in ((value,) if isinstance(value, str) else value))
        return hit is not self.excludes

    @property
    def prefixes(self) -> frozenset[str]:
        """Prefixes of which every matching value has one, folded if the level ignores case."""
        if self.excludes or self.options.quoted_case_sensitive:
            return frozenset(("",))
        folds = self.options.ignore_case
        return frozenset([fold(t.literal_prefix) if folds else t.literal_prefix for t in self.tests])

    def covers_scoped(self, value: Value, tokens: Tokens, scope: ElementScope | None) -> bool:
        """Return True if the level covers the value, or in the scope something below it."""
        return (self.covers_prefix if scope is ElementScope.SELF_OR_PREFIX else self.covers)(value, tokens)

    def covers_prefix(self, value: Value, tokens: Tokens) -> bool:
        """Return True if the level covers the value or something it is a prefix of (element scope SELF_OR_PREFIX)."""
        if self.match_any:
            return not self.excludes
        values = (value,) if isinstance(value, str) else value
        hit = any(self._covers_one(v, tokens) or self._covers_prefix_one(v, tokens) for v in values)
        return hit is not (self.excludes and not asks_for_all(value))

    def _covers_one(self, value: str, tokens: Tokens) -> bool:
        folded = self._folds(value)
        value = fold(value) if folded else value
        return any(passes(t.kind, self._text(t, tokens, folded), value) for t in self.tests)

    def _covers_prefix_one(self, value: str, tokens: Tokens) -> bool:
        folded = self._folds(value)
        value = fold(value) if folded else value
        return any(_test_prefix(t.kind, self._raw(t, tokens, folded), value) for t in self.tests)

    def _folds(self, value: str) -> bool:
        options = self.options
        if not options.ignore_case:
            return False
        return not (options.quoted_case_sensitive and value[:1] and value[0] in options.quote_chars)

    def _text(self, test: ValueTest, tokens: Tokens, folded: bool) -> str:
        """Return the text to compare with; the normal form of a glob is precomputed unless macros change it."""
        if test.kind is PatternKind.GLOB and not test.dynamic:
            return fold(test.glob) if folded else test.glob
        raw = self._raw(test, tokens, folded)
        return wildcard.normalise(raw) if test.kind is PatternKind.GLOB else raw

    def _raw(self, test: ValueTest, tokens: Tokens, folded: bool) -> str:
        text = expand(test.text, self.options, tokens) if test.dynamic and tokens is not None else test.text
        return fold(text) if folded else text


def is_dynamic(value: str, options: LevelOptions) -> bool:
    """Return True if Ranger expands the value: it contains an escape character, or both delimiters."""
    return options.replace_tokens and (
        options.delimiter_escape in value or (options.delimiter_start in value and options.delimiter_end in value)
    )


def expand(text: str, options: LevelOptions, tokens: Mapping[str, str]) -> str:
    """Replace the macros of a text; unknown macros are unchanged, and escapes are removed (§5.2)."""
    start, end, escape = options.delimiter_start, options.delimiter_end, options.delimiter_escape
    out: list[str] = []
    token: list[str] | None = None
    i = 0
    while i < len(text):
        c = text[i]
        i += 1
        delimiter = start if token is None else end
        sink = out if token is None else token
        if c == escape and text[i : i + 1] in (escape, delimiter) and i < len(text):
            sink.append(text[i])
            i += 1
        elif c != delimiter:
            sink.append(c)
        elif token is None:
            token = []
        else:
            out.append(_replacement("".join(token), options, tokens))
            token = None
    if token is not None:
        out.append(start + "".join(token))
    return "".join(out)


def _replacement(name: str, options: LevelOptions, tokens: Mapping[str, str]) -> str:
    prefix = options.delimiter_prefix
    value = tokens.get(name[len(prefix) :]) if name.startswith(prefix) else None
    return options.delimiter_start + name + options.delimiter_end if value is None else value


def passes(kind: PatternKind, text: str, value: str) -> bool:
    """Return True if a value passes the comparison with a text; a glob is in its normal form."""
    if kind is PatternKind.EQUALS:
        return text == value
    if kind is PatternKind.STARTS_WITH:
        return value.startswith(text)
    if kind is PatternKind.ENDS_WITH:
        return value.endswith(text)
    return wildcard.matches(text, value)


def _test_prefix(kind: PatternKind, text: str, value: str) -> bool:
    if kind is PatternKind.ENDS_WITH:
        return True
    if kind is PatternKind.GLOB:
        return wildcard.matches_prefix(text, value)
    return text.startswith(value)


def asks_for_all(value: Value) -> bool:
    """Return True if a requested value stands for all."""
    return value in ("", "*")
