"""Subjects that no policy near a resource distinguishes: one answer on it is the answer for all of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ranger_cdap.engine.view import PolicyCompiler, PolicyEntry, PolicyResourceMatcher
from ranger_cdap.tools.analysis.subject import Subject, exactly
from ranger_cdap.tools.analysis.symbols.space import PolicySpace, Region
from ranger_cdap.tools.analysis.symbols.symbolic import SymbolicPolicies


@dataclass(eq=False, slots=True)
class EquivalentSubjects:
    """Classes of subjects on the resource last asked about.

    Those of one class have the same cells there, except for the witness.
    """

    space: PolicySpace
    _symbols: SymbolicPolicies = field(default_factory=SymbolicPolicies)
    _resource: dict[str, str] | None = None
    _named: frozenset[str] | None = None

    def class_of(self, subject: Subject, resource: Mapping[str, str]) -> Hashable:
        """Return the class of a subject: their principals that policies near name, or all that is known of them."""
        if self._resource != resource:
            self._resource, self._named = dict(resource), self._names_near(resource)
        return subject if self._named is None else subject.principals(self.space.engine) & self._named

    def _names_near(self, resource: Mapping[str, str]) -> frozenset[str] | None:
        """Return the principals that policies near name; None if more than names may distinguish users."""
        space, given = self.space, self.space.view.privileged
        names = {f"u:{user}" for user in given.super_users} | {f"g:{group}" for group in given.super_groups}
        tagged = [one.resource for one in space.occurrences if one.resource is not None]
        for entry, compiler in self._near(resource):
            if _is_dynamic(entry.resources) or self._is_opaque(entry, compiler):
                return None
            names |= entry.compiled.principals
        return None if _is_dynamic(tagged) else frozenset(names)

    def _near(self, resource: Mapping[str, str]) -> Iterator[tuple[PolicyEntry, PolicyCompiler]]:
        space, state = self.space, self.space.view
        path = state.model.path_of(frozenset(resource)) if resource else ()
        if path is not None:
            levels = state.model.levels
            region = Region(path, tuple(exactly(resource[name], levels[name]) for name in path))
            yield from ((entry, state.compiler) for zone in space.zones(region) for entry in space.near(zone, region))
        if state.tag_repository is not None and state.tag_compiler is not None:
            yield from ((entry, state.tag_compiler) for entry in state.tag_repository.entries)

    def _is_opaque(self, entry: PolicyEntry, compiler: PolicyCompiler) -> bool:
        """Return True if code of a plugin, which may look at the user, is among the conditions."""
        one = self._symbols.of(entry.compiled, entry, compiler)
        items = (*one.allow, *one.deny, *one.allow_exceptions, *one.deny_exceptions)
        return any(c.is_opaque for conditions in (one.conditions, *(i.conditions for i in items)) for c in conditions)


def _is_dynamic(resources: Iterable[PolicyResourceMatcher]) -> bool:
    """Return True if a resource depends on the user, by a macro."""
    return any(element.dynamic for resource in resources for element in resource.elements)
