"""Which policies a search by resource finds: how a resource matches a policy, as Ranger's matcher has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from ranger_cdap.embedded_admin.model.documents import AdminPolicy, AdminServiceDef
from ranger_cdap.embedded_admin.rules.definitions import hierarchies
from ranger_cdap.embedded_admin.rules.grant_rules import matches
from ranger_cdap.ranger_model.policy import PolicyResource

Path = tuple[str, ...]
_WILDCARD = "*"


class ResourceMatch(Enum):
    """Match of a resource with patterns of its levels: `ANCESTOR` if it has more levels, `DESCENDANT` if fewer."""

    NONE = "none"
    SELF = "self"
    ANCESTOR = "ancestor"
    DESCENDANT = "descendant"


SEARCH_SCOPES: Mapping[str, frozenset[ResourceMatch]] = {
    "self": frozenset({ResourceMatch.SELF}),
    "ancestor": frozenset({ResourceMatch.ANCESTOR}),
    "self_or_ancestor": frozenset({ResourceMatch.SELF, ResourceMatch.ANCESTOR}),
}
"""Matches that a search finds, by its `resourceMatchScope`; any other text is `self_or_ancestor`."""


class ResourceSearch:
    """Search for policies by resource, in one service definition."""

    def __init__(self, definition: AdminServiceDef) -> None:
        self._paths = hierarchies(definition.resources)

    def paths(self, levels: Mapping[str, object]) -> list[Path]:
        """Return the resource hierarchies that have all these levels."""
        return [path for path in self._paths if levels.keys() <= set(path)]

    def concerns(self, policy: AdminPolicy, resource: Mapping[str, str]) -> bool:
        """Return whether the policy is about the resource, what is above or what is below it."""
        return any(
            self._match(patterns, resource) is not ResourceMatch.NONE
            for patterns in (policy.resources, *policy.additional_resources)
        )

    def finds(self, policy: AdminPolicy, wanted: Mapping[str, str], scope: str) -> bool:
        """Return whether a search for this resource finds the policy.

        Here the wanted values are the patterns and the policy's values what they are compared with: `ns1` does not
        find a policy on `ns*`.
        """
        accepted = SEARCH_SCOPES.get(scope.lower(), SEARCH_SCOPES["self_or_ancestor"])
        patterns = (
            {level: PolicyResource(values=[wanted[level]] if level in wanted else []) for level in path}
            for path in self.paths(wanted)
        )
        return any(self._match_of_policy(each, policy) in accepted for each in patterns)

    def _match_of_policy(self, patterns: Mapping[str, PolicyResource], policy: AdminPolicy) -> ResourceMatch:
        """Match the first fitting value of each of the policy's levels."""
        resource: dict[str, str] = {}
        match = ResourceMatch.NONE
        for level in _shortest(self.paths(policy.resources)) or ():
            values = policy.resources[level].values if level in policy.resources else []
            match = ResourceMatch.NONE if values else match
            for value in values:
                resource[level] = value
                match = self._match(patterns, resource)
                if match is not ResourceMatch.NONE:
                    break
            if match is ResourceMatch.NONE:
                break
        return match

    def _match(self, patterns: Mapping[str, PolicyResource], resource: Mapping[str, str]) -> ResourceMatch:
        path = self._common_path(patterns, resource)
        if path is None or path[: len(resource)] != tuple(level for level in path if level in resource):
            return ResourceMatch.NONE
        found = list(_matched_levels(patterns, resource, path))
        if not found or not all(found):
            return ResourceMatch.NONE
        if len(resource) > len(patterns):
            return ResourceMatch.ANCESTOR
        below = [level for level in path[len(resource) :] if level in patterns]
        return ResourceMatch.SELF if all(_is_any(patterns[level]) for level in below) else ResourceMatch.DESCENDANT

    def _common_path(self, patterns: Mapping[str, object], resource: Mapping[str, object]) -> Path | None:
        valid = self.paths(patterns)
        if len(valid) == 1:
            return valid[0] if resource.keys() <= set(valid[0]) else None
        if resource.keys() <= patterns.keys():
            return _shortest(valid)
        return _shortest(self.paths(resource)) if patterns.keys() <= resource.keys() else None


def _matched_levels(patterns: Mapping[str, PolicyResource], resource: Mapping[str, str], path: Path) -> Iterator[bool]:
    for level in path:
        if level in patterns and (level in resource or _is_any(patterns[level])):
            yield _matches_level(patterns[level], resource.get(level, _WILDCARD))


def _matches_level(pattern: PolicyResource, value: str) -> bool:
    if _is_any(pattern) or value == _WILDCARD:
        return _is_any(pattern) and not pattern.is_excludes
    found = matches(PolicyResource(values=pattern.values), value)
    return found is not pattern.is_excludes


def _is_any(pattern: PolicyResource) -> bool:
    return not pattern.values or _WILDCARD in pattern.values


def _shortest(paths: Sequence[Path]) -> Path | None:
    return min(paths, key=len, default=None)
