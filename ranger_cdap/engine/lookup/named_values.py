"""Values that policies, tags and security zones name on some levels, which distinguish all resources there."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from ranger_cdap.engine.compiled.matcher import Tokens, Value, expand
from ranger_cdap.engine.compiled.resource_match import PolicyResourceMatcher
from ranger_cdap.engine.compiled.service_def import Path
from ranger_cdap.engine.compiled.wildcard import normalise
from ranger_cdap.engine.lookup.repository import PolicyRepository
from ranger_cdap.engine.lookup.resource_map import ResourceMap


class NamedValues(msgspec.Struct, frozen=True):
    """Values named on a level, as normalised wildcards, and whether the level ignores case."""

    texts: frozenset[str]
    ignore_case: bool


class OpenResource(msgspec.Struct, frozen=True):
    """Resource of which some levels are open; the values there mean nothing."""

    path: Path
    values: tuple[Value, ...]
    open_levels: Collection[str]
    tokens: Tokens

    @property
    def depth(self) -> int:
        """Number of levels above the first open one."""
        return min(i for i, name in enumerate(self.path) if name in self.open_levels)

    def may_match(self, matcher: PolicyResourceMatcher) -> bool:
        """Return True if the matcher's resource, or one above or below it, is among those of the open resource."""
        common = min(len(self.path), len(matcher.path))
        return self.path[:common] == matcher.path[:common] and all(
            name in self.open_levels or element.covers(value, self.tokens)
            for name, element, value in zip(self.path, matcher.elements, self.values, strict=False)
        )


def named_values(
    resource: OpenResource,
    repositories: Iterable[PolicyRepository],
    maps: Iterable[ResourceMap[Any]],
    *,
    custom_conditions: bool = False,
) -> dict[str, NamedValues] | None:
    """Return the values named on the open levels.

    None if a policy there takes too many steps to match some names, has a custom condition that may look at them, or is
    recursive, so that its values do not distinguish all others.
    """
    depth, tokens = resource.depth, resource.tokens
    above = (resource.path[:depth], resource.values[:depth], tokens)
    matchers: list[PolicyResourceMatcher] = []
    for repository in repositories:
        entries = repository.candidates(resource.path, resource.values, tokens, include_descendants=False, depth=depth)
        for entry in entries:
            may_differ = entry.costly or (custom_conditions and entry.compiled.reads_resource)
            if may_differ and any(map(resource.may_match, entry.resources)):
                return None
        matchers += (matcher for entry in entries for matcher in entry.resources)
    for found in maps:
        matchers += found.at_or_below(*above)
    texts: dict[str, set[str]] = {name: set() for name in resource.open_levels}
    ignoring_case = set()
    for matcher in filter(resource.may_match, matchers):
        for name, element in zip(matcher.path, matcher.elements, strict=True):
            if name in texts and element.options.recursive:
                return None
            if name in texts:
                texts[name].update(map(normalise, element.values))
                if element.dynamic and tokens is not None:
                    expanded = (expand(value, element.options, tokens) for value in element.values)
                    texts[name].update(map(normalise, expanded))
                if element.options.ignore_case:
                    ignoring_case.add(name)
    return {name: NamedValues(frozenset(found), name in ignoring_case) for name, found in texts.items()}
