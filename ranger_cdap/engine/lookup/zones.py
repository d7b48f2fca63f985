"""Security zones: parts of the resources that have policies of their own (ranger-semantics.md §13)."""

from __future__ import annotations

from collections.abc import Mapping

from ranger_cdap.engine.compiled.ancestor import EVERYWHERE, doubts_of_resource, smallest_readable_ancestor
from ranger_cdap.engine.compiled.java import hash_order
from ranger_cdap.engine.compiled.matcher import Value
from ranger_cdap.engine.compiled.policy import denying
from ranger_cdap.engine.compiled.resource_match import MatchType, ResourceMatcher, compile_resource
from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.lookup.placed import Placed
from ranger_cdap.engine.model import wire
from ranger_cdap.engine.model.problem import Doubt, ProblemCode

UNZONED = ""
"""The name under which the policies outside all zones are among the zones of a request."""

UNREADABLE_ZONE = "(unreadable)"
"""The zone of what may lie in a zone whose resource cannot be read: nobody may do anything there."""

NOBODY = denying([EVERYWHERE], "it may lie in a security zone of which a resource cannot be read")
"""The one policy of `UNREADABLE_ZONE`."""


def _nothing(place: str) -> Doubt:
    return Doubt(ProblemCode.NO_HIERARCHY, place, "it names no level")


class ZoneTable:
    """Which zones a resource lies in. `doubts` are about resources of zones that cannot be read.

    Unless `lenient`, what may lie in a zone by such a resource, and does not surely lie in it by another one, is in
    `UNREADABLE_ZONE` instead. With `lenient` the resource is left out, as Ranger has it.
    """

    def __init__(self, zones: Mapping[str, wire.SecurityZoneInfo], model: ServiceModel, *, lenient: bool) -> None:
        placed: list[tuple[ResourceMatcher, tuple[str, bool]]] = []
        doubts: list[Doubt] = []
        for name, zone in zones.items():
            for n, resource in enumerate(zone.resources):
                elements = {level: wire.PolicyResource(values=values) for level, values in resource.items()}
                place = f"securityZones.{name}.resources[{n}]"
                found = list(doubts_of_resource(elements, model, place)) or ([] if elements else [_nothing(place)])
                effect = "so it is left out" if lenient else "so nobody may do anything where it may lie"
                doubts += (
                    Doubt(ProblemCode.UNREADABLE_ZONE_RESOURCE, d.place, f"{d.message}, {effect}") for d in found
                )
                if found and not lenient:
                    placed.append((smallest_readable_ancestor(elements, model), (name, False)))
                elif elements and (matcher := compile_resource(elements, model)) is not None:
                    placed.append((matcher, (name, True)))
        self.doubts = tuple(doubts)
        self._unsure_everywhere = any(not sure and not matcher.path for matcher, (_, sure) in placed)
        self._placed = Placed(((matcher, zone) for matcher, zone in placed if matcher.path), model)

    def of(self, path: Path | None, values: tuple[Value, ...]) -> tuple[str, ...]:
        """The zones a resource touches; above a zone's resource also `UNZONED`; in Java's order."""
        if not path or not (self._placed or self._unsure_everywhere):
            return ()
        if self._unsure_everywhere:
            return (UNREADABLE_ZONE,)
        touching = self._placed.touching(path, values)
        surely = {name for (name, sure), _ in touching if sure}
        if any(not sure and name not in surely and m is not MatchType.DESCENDANT for (name, sure), m in touching):
            return (UNREADABLE_ZONE,)
        zones = dict.fromkeys(name for (name, _), _ in touching)
        if any(match_type is MatchType.DESCENDANT for _, match_type in touching):
            zones[UNZONED] = None
        return hash_order(zones)
