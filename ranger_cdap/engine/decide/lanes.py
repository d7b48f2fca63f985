"""Which quick decider decides for a resource where security zones or tags have a say: remembered by resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.decide.query import single_values
from ranger_cdap.engine.decide.quick import QuickDecider, is_any
from ranger_cdap.engine.model.decision import Decision
from ranger_cdap.engine.model.request import AccessRequest, MatchingScope

_MOST_RESOURCES = 20_000
_LONGEST_RESOURCE = 1_000

Lane = Callable[[Path, tuple[str, ...], bool], QuickDecider | None]
"""The decider for a resource (path, values, and whether what lies below counts); None: only the general way will do."""


class QuickLanes:
    """As a `QuickDecider`, for policies in zones and for tags; what it remembers never depends on who asks."""

    __slots__ = ("_lane", "_model", "_remembered")

    def __init__(self, lane: Lane, model: ServiceModel) -> None:
        self._lane = lane
        self._model = model
        self._remembered: dict[tuple[object, ...], QuickDecider | None] = {}

    def decide(self, request: AccessRequest) -> Decision | None:
        """See `QuickDecider.decide`."""
        if request.tags:
            return None
        resource = request.resource
        wide = request.matching_scope is not MatchingScope.SELF or is_any(request)
        key = (wide, *resource, *resource.values())
        try:
            quick = self._remembered[key]
        except KeyError:
            quick = self._look(resource, wide, key)
        except TypeError:  # several values of a level, as a list
            return None
        return None if quick is None else quick.decide(request)

    def _look(
        self, resource: Mapping[str, str | tuple[str, ...]], wide: bool, key: tuple[object, ...]
    ) -> QuickDecider | None:
        path = self._model.path_of(frozenset(resource)) if resource else None
        values = single_values(resource, path) if path else None
        if not path or values is None:
            return None
        quick = self._lane(path, values, wide)
        if sum(map(len, values)) <= _LONGEST_RESOURCE:
            if len(self._remembered) >= _MOST_RESOURCES:
                self._remembered = {}
            self._remembered[key] = quick
        return quick
