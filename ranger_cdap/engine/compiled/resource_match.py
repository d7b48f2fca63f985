"""Matching of a policy resource with that of a request: the same, above or below (ranger-semantics.md §5.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum

import msgspec
from msgspec import structs

from ranger_cdap.engine.compiled import cost
from ranger_cdap.engine.compiled.compile_level import compile_element, compile_level, has_expression
from ranger_cdap.engine.compiled.cost import FREE, MAX_VALUE_LENGTH
from ranger_cdap.engine.compiled.java import utf16_units
from ranger_cdap.engine.compiled.matcher import EXPRESSION, ResourceMatcher, Tokens, Value
from ranger_cdap.engine.compiled.path_matcher import ALWAYS, PathMatcher, is_found, look_ups
from ranger_cdap.engine.compiled.service_def import LevelKind, Path, ServiceModel
from ranger_cdap.engine.model.problem import PolicyIssue, ProblemCode
from ranger_cdap.engine.model.request import ElementScope
from ranger_cdap.ranger_model.policy import PolicyResource


class MatchType(Enum):
    """Position of the policy's resource relative to the requested one."""

    NONE = "none"
    SELF = "self"
    SELF_AND_ALL_DESCENDANTS = "self and all descendants"
    DESCENDANT = "descendant"
    ANCESTOR = "ancestor"


SELF_KINDS = frozenset({MatchType.SELF, MatchType.SELF_AND_ALL_DESCENDANTS})


class PolicyResourceMatcher(msgspec.Struct, frozen=True, gc=False):
    """Matcher of a policy's resource: its levels from the root down; the last one that is not `*`, -1 if all are.

    If `found_by` is not empty, Java's look-up has to find one of these resources, not this one.
    """

    path: Path
    elements: tuple[ResourceMatcher, ...]
    last_specific: int
    found_by: tuple[PolicyResourceMatcher, ...] = ()

    def max_steps(self, longest: int = MAX_VALUE_LENGTH) -> int:
        """Return the steps to match values of at most `longest` characters (engine/compiled/cost.py)."""
        return sum([element.cost.max_steps(longest) for element in self.elements if element.cost is not FREE])

    def steps(self, values: tuple[Value, ...], tokens: Tokens) -> int:
        """Return the steps to match these values."""
        replacement = max(map(len, tokens.values())) if tokens else 0
        return sum(
            e.cost.steps(len(utf16_units(one)), replacement)
            for e, value in zip(self.elements, values, strict=False)
            for one in ((value,) if isinstance(value, str) else value)
        )

    def without_most_costly(self, resources: int) -> PolicyResourceMatcher:
        """Return the resource with the too expensive levels replaced by any value; `resources` share the limit."""
        most = cost.MAX_STEPS // (resources * max(1, len(self.elements)))
        elements = tuple(
            compile_element((), False, e.options) if e.cost.max_steps() > most else e for e in self.elements
        )
        return PolicyResourceMatcher(self.path, elements, last_specific(elements))

    @property
    def matches_nothing(self) -> bool:
        """Return True if some level excludes everything."""
        return True in [e.match_any and e.excludes for e in self.elements]

    def match(
        self, path: Path, values: tuple[Value, ...], tokens: Tokens, scopes: Mapping[str, ElementScope] | None = None
    ) -> MatchType:
        """Return the match type for a request with exactly the levels of `path`."""
        requested, own = len(path), len(self.path)
        common = min(requested, own)
        if path[:common] != self.path[:common] or (own == 0 and requested):
            return MatchType.NONE
        for name, element, value in zip(path, self.elements, values, strict=False):
            if not element.covers_scoped(value, tokens, scopes.get(name) if scopes else None):
                return MatchType.NONE
        if self.found_by and not any(each.is_found(path, values, scopes or {}) for each in self.found_by):
            return MatchType.NONE
        if requested > own:
            return MatchType.ANCESTOR
        if requested == own:
            return MatchType.SELF
        if any(e.matches_nothing for e in self.elements[requested:]):
            return MatchType.NONE
        return MatchType.SELF_AND_ALL_DESCENDANTS if requested > self.last_specific else MatchType.DESCENDANT

    def is_found(self, path: Path, values: tuple[Value, ...], scopes: Mapping[str, ElementScope]) -> bool:
        """Return True if Java's look-up of a request with exactly the levels of `path` finds the resource (§20)."""
        common = min(len(path), len(self.path))
        levels = zip(path, self.elements, values, strict=False)
        return path[:common] == self.path[:common] and all(
            is_found(element, value, scopes.get(name, ElementScope.SELF)) for name, element, value in levels
        )


def found_together(resources: tuple[PolicyResourceMatcher, ...]) -> tuple[PolicyResourceMatcher, ...]:
    """Return the resources of one policy: if Java's look-up finds one of them, all are matched (§20)."""
    if len(resources) < 2 or not any(isinstance(e, PathMatcher) for r in resources for e in r.elements):
        return resources
    named, together = tuple([one for one in resources if one.path]), []
    for own in resources:
        elements = list(own.elements)
        for n, element in enumerate(elements):
            if element.options.kind is not LevelKind.DEFAULT:
                at = [one for one in named if one.path[: n + 1] == own.path[: len(one.path)][: n + 1]]
                look_up = [one for r in at for one in (look_ups(r.elements[n]) if len(r.path) > n else ALWAYS)]
                elements[n] = compile_element(element.values, element.excludes, element.options, tuple(look_up))
        together.append(structs.replace(own, elements=tuple(elements), found_by=named))
    return tuple(together)


class ResourceCache:
    """Cache of compiled levels and paths for one set of policies, which share most of them."""

    __slots__ = ("_model", "_paths", "_several", "_single")

    def __init__(self, model: ServiceModel) -> None:
        self._model = model
        self._paths: dict[tuple[str, ...], Path | None] = {}
        self._single: dict[str, dict[str, ResourceMatcher]] = {name: {} for name in model.levels}
        self._several: dict[tuple[str, tuple[str, ...], bool, bool], ResourceMatcher] = {}

    def compiled(self, resources: Mapping[str, PolicyResource]) -> PolicyResourceMatcher | None:
        """Return the compiled resource; None if a level, a value or all of it may have an issue."""
        names = tuple(resources)
        try:
            path = self._paths[names]
        except KeyError:
            path = self._paths[names] = self._model.path_of(frozenset(names)) if names else None
        if path is None:
            return None
        elements: list[ResourceMatcher] = []
        for name in path:
            resource = resources[name]
            values = resource.values
            if len(values) == 1 and not resource.is_excludes and not resource.is_recursive:
                element = self._single[name].get(values[0])
                if element is None:
                    if not _can_match(values):
                        return None
                    element = compile_element(values, False, self._model.levels[name])
                    self._single[name][values[0]] = element
            else:
                key = (name, tuple(values), resource.is_excludes, resource.is_recursive)
                found = self._several.get(key)
                if found is None:
                    if not _can_match(values):
                        return None
                    found = compile_level(resource, self._model.levels[name])
                    self._several[key] = found
                element = found
            elements.append(element)
        return PolicyResourceMatcher(path, tuple(elements), last_specific(elements))


def _can_match(values: Iterable[str]) -> bool:
    return not any(EXPRESSION in value or len(value) > MAX_VALUE_LENGTH for value in values)


def compile_resource(resources: Mapping[str, PolicyResource], model: ServiceModel) -> PolicyResourceMatcher | None:
    """Compile a resource; None if its levels fit no hierarchy, so that it matches nothing."""
    path = model.path_of(frozenset(resources)) if resources else ()
    if path is None:
        return None
    elements = [compile_level(resources[n], model.levels[n]) for n in path]
    return PolicyResourceMatcher(path, tuple(elements), last_specific(elements))


def last_specific(elements: Sequence[ResourceMatcher]) -> int:
    """Return the last level that does not cover everything, -1 if all do."""
    for level in range(len(elements) - 1, -1, -1):
        if not elements[level].match_any:
            return level
    return -1


COMMON_OPTIONS = PolicyResourceMatcher((), (), -1)
"""Ancestor of all resources."""


def resource_issues(resources: Mapping[str, PolicyResource], model: ServiceModel, place: str) -> Iterator[PolicyIssue]:
    """Yield the reasons why a resource cannot be matched."""
    levels_valid = True
    for name, resource in resources.items():
        if issue := _level_issue(name, resource, model, place):
            levels_valid = False
            yield issue
    if levels_valid and resources and model.path_of(frozenset(resources)) is None:
        yield PolicyIssue(ProblemCode.NO_HIERARCHY, place, "it fits no hierarchy of the service definition")


def deepest_valid_ancestor(resources: Mapping[str, PolicyResource], model: ServiceModel) -> PolicyResourceMatcher:
    """Return the longest path from the root of readable levels that is not ambiguous between branches."""
    readable = {
        name: resource for name, resource in resources.items() if _level_issue(name, resource, model, "") is None
    }
    paths = [p for n in readable if (p := model.paths.get(n)) and readable.keys() >= set(p)]
    longest = max(map(len, paths), default=0)
    deepest = [p for p in paths if len(p) == longest]
    shared = next((n for n in range(longest, 0, -1) if len({p[:n] for p in deepest}) == 1), 0)
    path = deepest[0][:shared] if deepest else ()
    elements = tuple(compile_level(readable[n], model.levels[n]) for n in path)
    return PolicyResourceMatcher(path, elements, last_specific(elements))


def _level_issue(name: str, resource: PolicyResource, model: ServiceModel, place: str) -> PolicyIssue | None:
    if name not in model.levels:
        code, message = ProblemCode.UNKNOWN_RESOURCE, "the service definition has no such resource"
    elif has_expression(resource.values, model.levels[name]):
        code, message = ProblemCode.RESOURCE_EXPRESSION, "a value holds an expression that only JavaScript can evaluate"
    elif any(len(value) > MAX_VALUE_LENGTH for value in resource.values):
        code, message = ProblemCode.VALUE_TOO_LONG, f"a value is longer than {MAX_VALUE_LENGTH} characters"
    else:
        return None
    return PolicyIssue(code, f"{place}.{name}", message)
