"""Routing of requests to fast paths where security zones or tags matter; the route is cached by resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.decide.fast_path import FastPath, is_any
from ranger_cdap.engine.decide.query import single_values
from ranger_cdap.engine.model.decision import Decision
from ranger_cdap.engine.model.request import AccessRequest, MatchingScope

_MAX_RESOURCES = 20_000
_MAX_RESOURCE_LENGTH = 1_000

FastPathResolver = Callable[[Path, tuple[str, ...], bool], FastPath | None]
"""Returns the fast path of a resource (path, values, include descendants); None if the general evaluator is needed."""


@dataclass(eq=False, slots=True)
class FastPathRouter:
    """Router to the fast path of the zone of a resource; the cached routes are independent of the principal."""

    resolver: FastPathResolver
    model: ServiceModel
    _cache: dict[tuple[object, ...], FastPath | None] = field(default_factory=dict)

    def decide(self, request: AccessRequest) -> Decision | None:
        """Return the decision, or None if the general evaluator is needed."""
        if request.tags:
            return None
        resource = request.resource
        include_descendants = request.matching_scope is not MatchingScope.SELF or is_any(request)
        key = (include_descendants, *resource, *resource.values())
        try:
            fast_path = self._cache[key]
        except KeyError:
            fast_path = self._resolve(resource, include_descendants, key)
        except TypeError:  # several values of a level, as a list, are not hashable
            return None
        return None if fast_path is None else fast_path.decide(request)

    def _resolve(
        self, resource: Mapping[str, str | tuple[str, ...]], include_descendants: bool, key: tuple[object, ...]
    ) -> FastPath | None:
        path = self.model.path_of(frozenset(resource)) if resource else None
        values = single_values(resource, path) if path else None
        if not path or values is None:
            return None
        fast_path = self.resolver(path, values, include_descendants)
        if sum(map(len, values)) <= _MAX_RESOURCE_LENGTH:
            if len(self._cache) >= _MAX_RESOURCES:
                self._cache = {}
            self._cache[key] = fast_path
        return fast_path
