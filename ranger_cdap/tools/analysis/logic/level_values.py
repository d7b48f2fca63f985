"""Values of one resource level that some matchers cover and others do not, found exactly (ranger-semantics.md §5.1).

Exact values are tried one by one. For wildcards a few readable guesses come first, then a walk over the joint states of
all patterns, which finds a value if there is one. The walk has a budget; if it ends, the outcome is undecided.
Values are non-empty and not `*`, which stands for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain, islice, product
from typing import Final

from msgspec import structs

from ranger_cdap.engine.view import (
    ALWAYS,
    PatternKind,
    ResourceMatcher,
    Tokens,
    ValueTest,
    compile_element,
    expand,
    fold,
    normalise,
    utf16_units,
)

MAX_VALUE_STEPS: Final = 300_000
"""Steps of one walk; a step compares a character with a pattern: about 0.3 s."""

_ALL: Final = "*"
_MOST_GUESSES: Final = 400
_FILLERS: Final = ("", "x", "any_name", "x1", "_0", "q7z")
_SPARE: Final = "xyzqwvkj0123456789_abcdefghilmnoprstu-"


@dataclass(frozen=True, slots=True)
class Undecided:
    """Outcome of a walk whose budget ended."""


UNDECIDED: Final = Undecided()


def without_macros(element: ResourceMatcher, tokens: Tokens = None) -> ResourceMatcher:
    """Return a matcher that covers, whatever the macros, what this one covers with these values of macros."""
    if not element.dynamic:
        return element
    tests = tuple(_expanded(test, element, tokens) for test in element.tests)
    return structs.replace(element, several_tests=tests)


def _expanded(test: ValueTest, element: ResourceMatcher, tokens: Tokens) -> ValueTest:
    text = expand(test.text, element.options, tokens) if test.dynamic and tokens is not None else test.text
    return structs.replace(test, text=text, dynamic=False, glob=normalise(text) if test.glob else "")


def included(element: ResourceMatcher) -> ResourceMatcher:
    """Return the matcher without its exclusion: what it names rather than what it covers."""
    return compile_element(element.values, False, element.options, ALWAYS) if element.excludes else element


def find_value(
    inside: Sequence[ResourceMatcher], outside: Sequence[ResourceMatcher], max_steps: int = MAX_VALUE_STEPS
) -> str | Undecided | None:
    """Return a value that all of `inside` and none of `outside` cover, None if there is none.

    The matchers exclude nothing and have no macros.
    """

    def fits(value: str) -> bool:
        return (
            value not in ("", _ALL)
            and all(element.covers(value, None) for element in inside)
            and not any(element.covers(value, None) for element in outside)
        )

    finite = [element for element in inside if _is_finite(element)]
    if finite:
        texts = [test.text for test in min(finite, key=lambda element: len(element.tests)).tests]
        found = next(filter(fits, texts), None)
        if found is not None or _alike(*inside, *outside):
            return found
        variants = chain.from_iterable((text.lower(), text.upper(), text.title()) for text in texts)
        return next(filter(fits, variants), UNDECIDED)
    found = next(filter(fits, islice(_guesses(inside), _MOST_GUESSES)), None)
    if found is None and any(map(_is_recursive, (*inside, *outside))):
        return UNDECIDED
    return found if found is not None else _walked(inside, outside, max_steps)


def conflict(
    inside: Sequence[ResourceMatcher], outside: Sequence[ResourceMatcher], max_steps: int = MAX_VALUE_STEPS
) -> tuple[list[int], list[int]]:
    """Return positions of few matchers that alone leave no value, where `find_value` has found none."""
    finite = [n for n, element in enumerate(inside) if _is_finite(element)]
    if finite and _alike(*inside, *outside):
        one = min(finite, key=lambda n: len(inside[n].tests))
        kept, barred = {one}, set()
        for text in (test.text for test in inside[one].tests if test.text not in ("", _ALL)):
            lacking = next((n for n, element in enumerate(inside) if not element.covers(text, None)), None)
            if lacking is not None:
                kept.add(lacking)
            else:
                barred.add(next(n for n, element in enumerate(outside) if element.covers(text, None)))
        return sorted(kept), sorted(barred)
    for n, element in enumerate(inside):
        for m, other in enumerate(outside):
            if find_value([element], [other], max_steps) is None:
                return [n], [m]
        for m, other in enumerate(inside[:n]):
            if find_value([element, other], (), max_steps) is None:
                return [m, n], []
    ins, outs = list(range(len(inside))), list(range(len(outside)))
    for side in (outs, ins):
        for n in list(side):
            side.remove(n)
            if find_value([inside[i] for i in ins], [outside[i] for i in outs], max_steps) is not None:
                side.append(n)
    return sorted(ins), sorted(outs)


def _alike(*elements: ResourceMatcher) -> bool:
    """Return True if levels compare letters alike."""
    return len({(e.options.ignore_case, e.options.quoted_case_sensitive, e.options.quote_chars) for e in elements}) == 1


def _is_recursive(element: ResourceMatcher) -> bool:
    """Return True if the automaton of a level is not known: of what it covers, only some values can be guessed."""
    return any(test.kind in (PatternKind.AT_OR_BELOW, PatternKind.GLOB_OR_BELOW) for test in element.tests)


def _is_finite(element: ResourceMatcher) -> bool:
    return not element.match_any and all(test.kind is PatternKind.EQUALS for test in element.tests)


@dataclass(frozen=True, slots=True)
class _Pieces:
    """A pattern in pieces: the text before its first star, between stars, and after the last one."""

    start: str
    middle: str
    end: str
    closed: bool


def _pieces(test: ValueTest) -> _Pieces:
    if test.kind is PatternKind.EQUALS:
        return _Pieces(test.text, "", "", True)
    if test.kind is PatternKind.STARTS_WITH:
        return _Pieces(test.text, "", "", False)
    if test.kind is PatternKind.ENDS_WITH:
        return _Pieces("", "", test.text, False)
    first, *rest = (test.glob or test.text).replace("?", "x").split("*")
    return _Pieces(first, "".join(rest[:-1]), rest[-1], False) if rest else _Pieces(first, "", "", True)


def _guesses(inside: Sequence[ResourceMatcher]) -> Iterator[str]:
    """Yield readable values: one pattern of each matcher, joined, with something between the parts."""
    patterns = [[_pieces(test) for test in element.tests] for element in inside if not element.match_any]
    for chosen in islice(product(*patterns), 64):
        start = max((p.start for p in chosen), key=len, default="")
        end = max((p.end for p in chosen), key=len, default="")
        middle = ""
        for piece in sorted((p.middle for p in chosen), key=len, reverse=True):
            middle += "" if piece in start + middle + end else piece
        for filler in _FILLERS:
            yield start + filler + middle + end
            if middle or (start and end):
                yield start + middle + filler + end


class _Pattern:
    """A value's pattern as an automaton: its states are the bits of a number."""

    __slots__ = ("_any", "_star", "final", "folds", "forever", "letters", "start")

    def __init__(self, test: ValueTest, folds: bool) -> None:
        text = utf16_units(test.glob if test.kind is PatternKind.GLOB else test.text)
        text = "".join(map(fold, text)) if folds else text
        tokens: list[str] = list(text)
        special = test.kind is PatternKind.GLOB
        self._star = sum(1 << n for n, c in enumerate(tokens) if special and c == "*")
        self._any = sum(1 << n for n, c in enumerate(tokens) if special and c == "?")
        self.letters: dict[str, int] = {}
        for n, c in enumerate(tokens):
            if not (special and c in "*?"):
                self.letters[c] = self.letters.get(c, 0) | 1 << n
        length = len(tokens)
        if test.kind is PatternKind.STARTS_WITH:
            self._star |= 1 << length
            length += 1
        elif test.kind is PatternKind.ENDS_WITH:
            self._star = 1
            self.letters = {c: bits << 1 for c, bits in self.letters.items()}
            length += 1
        self.folds = folds
        self.final = 1 << length
        # In this state every longer value matches as well.
        self.forever = self.final >> 1 & self._star
        self.start = 1 | (1 & self._star) << 1

    def step(self, state: int, letter: str) -> int:
        """Return the state after one more letter, folded if the pattern ignores case."""
        moved = (state & (self._any | self.letters.get(letter, 0))) << 1 | state & self._star
        return moved | (moved & self._star) << 1


def _patterns(element: ResourceMatcher, unfolded: bool) -> list[_Pattern]:
    if element.match_any:
        return [_Pattern(ValueTest(PatternKind.STARTS_WITH, "", False), False)]
    folds = element.options.ignore_case and not (element.options.quoted_case_sensitive and unfolded)
    return [_Pattern(test, folds) for test in element.tests]


def _walked(
    inside: Sequence[ResourceMatcher], outside: Sequence[ResourceMatcher], max_steps: int
) -> str | Undecided | None:
    quotes = {c for e in (*inside, *outside) if e.options.quoted_case_sensitive for c in e.options.quote_chars}
    found = _Walk(inside, outside, quotes, quoted=False).find(max_steps)
    return found if found is not None or not quotes else _Walk(inside, outside, quotes, quoted=True).find(max_steps)


class _Walk:
    """Walk over the joint states of patterns, closest to a match first; a state is visited once."""

    def __init__(
        self, inside: Sequence[ResourceMatcher], outside: Sequence[ResourceMatcher], quotes: set[str], *, quoted: bool
    ) -> None:
        self._groups: list[range] = []
        self._patterns: list[_Pattern] = []
        for element in inside:
            first = len(self._patterns)
            self._patterns += _patterns(element, quoted)
            self._groups.append(range(first, len(self._patterns)))
        self._barred = range(len(self._patterns), len(self._patterns))
        for element in outside:
            self._patterns += _patterns(element, quoted)
        self._barred = range(self._groups[-1].stop if self._groups else 0, len(self._patterns))
        letters = {letter for pattern in self._patterns for letter in pattern.letters}
        if not all(pattern.folds for pattern in self._patterns):
            letters |= {one for letter in letters for one in (letter.lower(), letter.upper()) if len(one) == 1}
        spare = next((c for c in chain(_SPARE, map(chr, range(0x4E00, 0x9000))) if c not in letters), "x")
        self._letters = (*sorted(letters), spare)
        self._surrogates = any("\ud800" <= letter <= "\udfff" for letter in letters)
        self._first = [c for c in (*self._letters, *sorted(quotes - letters)) if (c in quotes) is quoted]

    def find(self, max_steps: int) -> str | Undecided | None:
        """Return a value, None if there is none, or undecided."""
        start = tuple(pattern.start for pattern in self._patterns)
        queue: list[tuple[int, int, str, tuple[int, ...]]] = [(0, 0, "", start)]
        seen = {start}
        steps, number, unsure = 0, 0, False
        while queue:
            _, _, text, state = heappop(queue)
            for letter in self._letters if text else self._first:
                steps += len(state) or 1
                following = self._step(state, letter)
                if following is None or (following in seen and text):
                    continue
                seen.add(following)
                if self._accepts(following) and text + letter != _ALL:
                    value = _joined(text + letter)
                    if value is not None:
                        return value
                    unsure = True
                number += 1
                heappush(queue, (self._distance(following) + len(text), number, text + letter, following))
            if steps > max_steps:
                return UNDECIDED
        return UNDECIDED if unsure or self._surrogates else None

    def _step(self, state: tuple[int, ...], letter: str) -> tuple[int, ...] | None:
        """Return the next joint state, None if no value can go on from it."""
        folded = fold(letter)
        following = tuple(
            [p.step(s, folded if p.folds else letter) if s else 0 for p, s in zip(self._patterns, state, strict=True)]
        )
        is_dead = any(not any(following[n] for n in group) for group in self._groups)
        return None if is_dead or any(following[n] & self._patterns[n].forever for n in self._barred) else following

    def _accepts(self, state: tuple[int, ...]) -> bool:
        ends = [bool(s & p.final) for p, s in zip(self._patterns, state, strict=True)]
        return all(any(ends[n] for n in group) for group in self._groups) and not any(ends[n] for n in self._barred)

    def _distance(self, state: tuple[int, ...]) -> int:
        return sum(
            min(self._patterns[n].final.bit_length() - state[n].bit_length() for n in group if state[n])
            for group in self._groups
        )


def _joined(units: str) -> str | None:
    """Return UTF-16 units as a text, None if they are none."""
    try:
        return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be")
    except UnicodeDecodeError:
        return None
