"""Index of resources by the values that they may share with another resource."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ranger_cdap.engine.view import Path, PatternKind, PolicyResourceMatcher, ResourceMatcher, fold
from ranger_cdap.keyed import grouped

_T = TypeVar("_T")
_Pair = tuple[_T, PolicyResourceMatcher]

Elements = tuple[ResourceMatcher | None, ...]
"""Levels from the root down; None covers everything."""


def on_one_path(one: Path, other: Path) -> bool:
    """Return whether one path is the other, or the way down to it."""
    return all(level == other_level for level, other_level in zip(one, other, strict=False))


def may_meet(one: ResourceMatcher | None, other: ResourceMatcher | None) -> bool:
    """Return False only if no value is covered by both; the two have the same options."""
    if one is None or other is None:
        return not any(e is not None and e.matches_nothing for e in (one, other))
    if one.matches_nothing or other.matches_nothing:
        return False
    if one.match_any or other.match_any or one.excludes or other.excludes or one.dynamic or other.dynamic:
        return True
    if one.exact is not None and other.exact is not None:
        return not one.exact.isdisjoint(other.exact)
    for exact, pattern in ((one.exact, other), (other.exact, one)):
        if exact is not None:
            return any(pattern.covers(value, None) for value in exact)
    if one.options.quoted_case_sensitive:
        return True
    ends = [[_ends(t.kind, t.literal_prefix, t.text, e.options.ignore_case) for t in e.tests] for e in (one, other)]
    return any(
        (a.startswith(b) or b.startswith(a)) and (y.endswith(z) or z.endswith(y))
        for a, y in ends[0]
        for b, z in ends[1]
    )


def _ends(kind: PatternKind, prefix: str, text: str, folds: bool) -> tuple[str, str]:
    suffix = text if kind in (PatternKind.EQUALS, PatternKind.ENDS_WITH) else ""
    return (fold(prefix), fold(suffix)) if folds else (prefix, suffix)


@dataclass(eq=False, slots=True)
class _Node(Generic[_T]):
    """Resources that are alike above a level, sorted by that level when first asked: values in a dictionary."""

    depth: int
    pairs: list[_Pair[_T]]
    _sorted: bool = False
    _exact: dict[str, list[_Node[_T]]] = field(default_factory=dict)
    _patterns: list[tuple[ResourceMatcher, _Node[_T]]] = field(default_factory=list)
    _any: _Node[_T] | None = None

    @property
    def items(self) -> Iterator[_T]:
        """Items of the resources."""
        return (item for item, _ in self.pairs)

    @property
    def any(self) -> _Node[_T] | None:
        """The node below elements that cover everything."""
        self._sort()
        return self._any

    def meeting(self, element: ResourceMatcher | None) -> Iterator[_Node[_T]]:
        """Yield the nodes below elements that may share a value with this one."""
        if self.any is not None:
            yield self.any
        if element is not None and element.exact is not None:
            yield from {id(node): node for value in element.exact for node in self._exact.get(value, ())}.values()
            yield from (node for other, node in self._patterns if other.exact is None and may_meet(element, other))
            return
        yield from (node for other, node in self._patterns if may_meet(element, other))

    def _sort(self) -> None:
        if self._sorted:
            return
        self._sorted = True
        depth = self.depth
        by_element = grouped((id(pair[1].elements[depth]), pair) for pair in self.pairs)
        everything: list[_Pair[_T]] = []
        for pairs in by_element.values():
            element = pairs[0][1].elements[depth]
            if element.match_any and not element.excludes:
                everything += pairs
                continue
            below = _Node(depth + 1, pairs)
            for value in element.exact or ():
                self._exact.setdefault(value, []).append(below)
            self._patterns.append((element, below))
        if everything:
            self._any = _Node(depth + 1, everything)


class MeetingIndex(Generic[_T]):
    """Items by the resources they are about."""

    def __init__(self, items: Iterable[_Pair[_T]]) -> None:
        by_path = grouped((pair[1].path, pair) for pair in items)
        self._roots = {path: _Node(0, pairs) for path, pairs in by_path.items()}

    def meeting(self, path: Path, elements: Elements, *, above: bool = False) -> list[_T]:
        """Return the items that match some resource with these levels; with `above` also those on its ancestors."""
        found: list[_T] = []
        for own, root in self._roots.items():
            if not on_one_path(own, path) or (len(own) < len(path) and not above):
                continue
            common = min(len(own), len(path))
            nodes = [root]
            for element in elements[:common]:
                nodes = [below for node in nodes for below in node.meeting(element)]
            for _ in own[common:]:
                nodes = [node.any for node in nodes if node.any is not None]
            found += [item for node in nodes for item in node.items]
        return found
