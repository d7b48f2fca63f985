"""Security zones: parts of the resources that have policies of their own (policy-engine.md, 13)."""

from __future__ import annotations

from collections.abc import Mapping

from ranger_cdap.engine import wire
from ranger_cdap.engine.java import hash_order
from ranger_cdap.engine.matcher import Value
from ranger_cdap.engine.placed import Placed
from ranger_cdap.engine.resource_match import MatchType, compile_resource
from ranger_cdap.engine.service_def import Path, ServiceModel

UNZONED = ""
"""The name under which the policies outside all zones are among the zones of a request."""


class ZoneTable:
    """Which zones a resource lies in."""

    def __init__(self, zones: Mapping[str, wire.SecurityZoneInfo], model: ServiceModel) -> None:
        placed = []
        for name, zone in zones.items():
            for resource in zone.resources:
                elements = {level: wire.PolicyResource(values=values) for level, values in resource.items()}
                matcher = compile_resource(elements, model) if elements else None
                if matcher is not None:
                    placed.append((matcher, name))
        self._placed = Placed(placed, model)

    def of(self, path: Path | None, values: tuple[Value, ...]) -> tuple[str, ...]:
        """The zones a resource touches; above a zone's resource also `UNZONED`; in Java's order."""
        if not path or not self._placed:
            return ()
        touching = self._placed.touching(path, values)
        zones = dict.fromkeys(name for name, _ in touching)
        if any(match_type is MatchType.DESCENDANT for _, match_type in touching):
            zones[UNZONED] = None
        return hash_order(zones)
