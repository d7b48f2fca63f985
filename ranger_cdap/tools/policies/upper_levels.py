"""Policies that end above the lowest levels, and whether those they name are allowed anything below (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ranger_cdap.engine.view import OWNER_MACRO, PUBLIC, USER_MACRO, ResourceMatcher, ServiceModel, compile_level
from ranger_cdap.keyed import grouped
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyResource

Resources = Mapping[str, PolicyResource]
_EVERYONE = frozenset({("groups", PUBLIC), ("users", USER_MACRO), ("users", OWNER_MACRO)})


@dataclass(frozen=True, slots=True)
class Descent:
    """Resources that the policies of a service allow something on, by the principals that they name.

    `inside`: by user, group or role, the resources on which some policy allows them something.
    `parents`: the levels that have levels below them, except the first: an instance is not a place for data.
    """

    model: ServiceModel
    inside: Mapping[tuple[str, str], Sequence[Resources]]
    parents: frozenset[str]

    @classmethod
    def of(cls, policies: Iterable[Policy], model: ServiceModel) -> Descent:
        """Return the descent of these policies."""
        parents = frozenset(path[-2] for path in model.paths.values() if len(path) > 2)
        inside = grouped(
            (who, resources)
            for policy in policies
            for who in _named(policy.policy_items)
            for resources in (policy.resources, *policy.additional_resources)
        )
        return cls(model, inside, parents)

    def dead_ends(self, policy: Policy) -> Iterator[tuple[str, str]]:
        """Yield place and last level of each resource of a policy below which those it allows have nothing."""
        named = _named(policy.policy_items)
        if not named:
            return
        for number, resources in enumerate((policy.resources, *policy.additional_resources)):
            path = self.model.path_of(frozenset(resources)) or ()
            if path and path[-1] in self.parents and not self._goes_on(resources, named):
                yield f"additionalResources[{number - 1}]" if number else "resources", path[-1]

    def _goes_on(self, above: Resources, named: Iterable[tuple[str, str]]) -> bool:
        mine = {level: self._matcher(level, resource) for level, resource in above.items()}
        deeper = (
            below for who in {*named, *_EVERYONE} for below in self.inside.get(who, ()) if above.keys() < below.keys()
        )
        return any(
            all(self._meet(matcher, above[level], below[level], level) for level, matcher in mine.items())
            for below in deeper
        )

    def _meet(self, matcher: ResourceMatcher, above: PolicyResource, below: PolicyResource, level: str) -> bool:
        """Return True if a name may match both; two patterns are taken to meet: nothing is reported in doubt."""
        return (
            above.is_excludes
            or below.is_excludes
            or any(matcher.covers(value, None) for value in below.values)
            or any(self._matcher(level, below).covers(value, None) for value in above.values)
            or all(any(c in value for c in "*?{") for value in (*above.values, *below.values))
        )

    def _matcher(self, level: str, resource: PolicyResource) -> ResourceMatcher:
        return compile_level(resource, self.model.levels[level])


def _named(items: Iterable[PolicyItem]) -> set[tuple[str, str]]:
    return {
        (kind, name)
        for item in items
        for kind in ("users", "groups", "roles")
        for name in getattr(item, kind)
        if item.accesses
    }
