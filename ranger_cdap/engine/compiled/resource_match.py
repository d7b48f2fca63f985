"""A whole policy resource against that of a request: the same, above or below (ranger-semantics.md §5.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

import msgspec

from ranger_cdap.engine.compiled import cost
from ranger_cdap.engine.compiled.cost import FREE, LONGEST_VALUE
from ranger_cdap.engine.compiled.matcher import EXPRESSION, Element, Tokens, Value, compile_element
from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.model.request import ElementScope
from ranger_cdap.engine.model.wire import PolicyResource


class MatchType(Enum):
    """Where the policy's resource lies, seen from the requested one."""

    NONE = "none"
    SELF = "self"
    SELF_AND_ALL_DESCENDANTS = "self and all descendants"
    DESCENDANT = "descendant"
    ANCESTOR = "ancestor"


SELF_KINDS = frozenset({MatchType.SELF, MatchType.SELF_AND_ALL_DESCENDANTS})


class ResourceMatcher(msgspec.Struct, frozen=True, gc=False):
    """A policy's resource: its levels from the root down, and the last one that is not `*` (-1: all are)."""

    path: Path
    elements: tuple[Element, ...]
    last_specific: int

    def most_steps(self, longest: int = LONGEST_VALUE) -> int:
        """What it costs to match values of that length at most (engine/cost.py)."""
        return sum([e.cost.most(longest) for e in self.elements if e.cost is not FREE])

    def steps(self, values: tuple[Value, ...], tokens: Tokens) -> int:
        """What it costs to match these values."""
        replacement = max(map(len, tokens.values()), default=0) if tokens else 0
        return sum(
            e.cost.steps(len(one), replacement)
            for e, value in zip(self.elements, values, strict=False)
            for one in ((value,) if isinstance(value, str) else value)
        )

    def without_dearest(self, resources: int) -> ResourceMatcher:
        """The resource with every value at those levels that alone cost too much for one of so many resources."""
        most = cost.MOST_STEPS // (resources * max(1, len(self.elements)))
        elements = tuple(compile_element((), False, e.options) if e.cost.most() > most else e for e in self.elements)
        return ResourceMatcher(self.path, elements, last_specific(elements))

    @property
    def never(self) -> bool:
        """Whether some level excludes everything."""
        return any(e.never for e in self.elements)

    def match(
        self, path: Path, values: tuple[Value, ...], tokens: Tokens, scopes: Mapping[str, ElementScope] | None = None
    ) -> MatchType:
        """The match type for a request that names exactly the levels of `path`."""
        asked, own = len(path), len(self.path)
        common = min(asked, own)
        if path[:common] != self.path[:common] or (own == 0 and asked):
            return MatchType.NONE
        for name, element, value in zip(path, self.elements, values, strict=False):
            scope = scopes.get(name) if scopes else None
            if not (element.begins if scope is ElementScope.SELF_OR_PREFIX else element.covers)(value, tokens):
                return MatchType.NONE
        if asked > own:
            return MatchType.ANCESTOR
        if asked == own:
            return MatchType.SELF
        if any(e.never for e in self.elements[asked:]):
            return MatchType.NONE
        return MatchType.SELF_AND_ALL_DESCENDANTS if asked > self.last_specific else MatchType.DESCENDANT


class Known:
    """What was compiled before for policies of one set: most share their paths, and most of their levels."""

    __slots__ = ("elements", "paths")

    def __init__(self) -> None:
        self.elements: dict[tuple[str, tuple[str, ...], bool], Element] = {}
        self.paths: dict[tuple[str, ...], Path | None] = {}

    def is_usual(self, resources: Mapping[str, PolicyResource]) -> bool:
        """Whether its levels were met before and found to be a path, and every value can be matched."""
        if self.paths.get(tuple(resources)) is None:
            return False
        for level in resources.values():
            for value in level.values:
                if EXPRESSION in value or len(value) > LONGEST_VALUE:
                    return False
        return True


def compile_resource(
    resources: Mapping[str, PolicyResource], model: ServiceModel, known: Known | None = None
) -> ResourceMatcher | None:
    """The resource ready to match, or None where its levels fit no hierarchy: then it matches nothing."""
    known, names = known or Known(), tuple(resources)
    path = known.paths.get(names)
    if path is None:
        path = known.paths[names] = model.path_of(frozenset(names)) if names else ()
        if path is None:
            return None
    elements = []
    for name in path:
        resource = resources[name]
        key = (name, tuple(resource.values), resource.isExcludes)
        element = known.elements.get(key)
        if element is None:
            element = known.elements[key] = compile_element(resource.values, resource.isExcludes, model.levels[name])
        elements.append(element)
    return ResourceMatcher(path, tuple(elements), last_specific(elements))


def last_specific(elements: Sequence[Element]) -> int:
    """The last level that does not cover everything; -1: all do."""
    for level in range(len(elements) - 1, -1, -1):
        if not elements[level].match_any:
            return level
    return -1
