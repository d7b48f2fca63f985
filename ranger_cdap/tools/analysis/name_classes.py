"""Classes of the names of one resource level that some matchers cannot distinguish, each with a name of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ranger_cdap.engine.view import LevelOptions, ResourceMatcher, compile_element
from ranger_cdap.tools.analysis.logic.level_values import UNDECIDED, Undecided, find_value

_STEPS: Final = 60_000
"""Steps of one search for a name; about 60 ms."""


@dataclass(frozen=True, slots=True)
class NameClass:
    """Names that all of `inside` and none of `outside` cover, without those `taken`; `name` is one of them.

    The matchers exclude nothing and have no macros.
    """

    options: LevelOptions
    inside: tuple[ResourceMatcher, ...]
    outside: tuple[ResourceMatcher, ...]
    taken: frozenset[str]
    name: str = ""

    def found(self) -> NameClass | Undecided | None:
        """Return the class with a name of it, None if it is empty."""
        name = find_value(self.inside, self.outside, _STEPS)
        if name in self.taken:
            # Few of many taken names are left here; each would be a pattern of its own to the search.
            near = [one for one in self.taken if self.has(one)]
            name = find_value(self.inside, (*self.outside, compile_element(near, False, self.options)), _STEPS)
        return replace(self, name=name) if isinstance(name, str) else name

    def has(self, name: str) -> bool:
        """Return True if the matchers put a name into this class, taken or not."""
        return all(m.covers(name, None) for m in self.inside) and not any(m.covers(name, None) for m in self.outside)

    def without(self, taken: Iterable[str]) -> NameClass | Undecided | None:
        """Return the class without more names, None if it is empty."""
        return replace(self, taken=self.taken.union(taken)).found()


def name_classes(
    names: NameClass, matchers: Sequence[ResourceMatcher], most: int
) -> tuple[list[NameClass], Collection[ResourceMatcher]]:
    """Split a class by matchers: any two names of one of the classes returned are covered by the same matchers.

    Returned as well are matchers by which a class was not split, because there would be more than `most` classes, or it
    could not be decided whether some name is covered.
    """
    first = names.found()
    if first is None:
        return [], ()
    if isinstance(first, Undecided):
        return [], (*names.inside, *names.outside)
    found, unsplit = [first], list[ResourceMatcher]()
    barred = {matcher.tests for matcher in names.outside}
    matchers = [matcher for matcher in matchers if matcher.tests not in barred]
    for number, matcher in enumerate(matchers):
        split: list[NameClass] = []
        undecided = False
        for one in found:
            covered = matcher.covers(one.name, None)
            inside = replace(one, inside=(*one.inside, matcher), name=one.name if covered else "")
            outside = replace(one, outside=(*one.outside, matcher), name="" if covered else one.name)
            other = (outside if covered else inside).found()
            if other is None:
                split.append(one)
            elif other is UNDECIDED:
                undecided = True
                split.append(one)
            else:
                assert isinstance(other, NameClass)
                split += (inside if covered else outside, other)
        if len(split) > most:
            return found, (*unsplit, *matchers[number:])
        if undecided:
            unsplit.append(matcher)
        found = split
    return found, unsplit
