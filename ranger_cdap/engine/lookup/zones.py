"""Security zones: resources with policies of their own (ranger-semantics.md §13)."""

from __future__ import annotations

from collections.abc import Mapping

from ranger_cdap.engine.compiled.java import hash_order
from ranger_cdap.engine.compiled.matcher import Value
from ranger_cdap.engine.compiled.policy import deny_all_policy
from ranger_cdap.engine.compiled.resource_match import (
    COMMON_OPTIONS,
    MatchType,
    PolicyResourceMatcher,
    compile_resource,
    deepest_valid_ancestor,
    resource_issues,
)
from ranger_cdap.engine.compiled.service_def import LevelOptions, Path, ServiceModel
from ranger_cdap.engine.lookup.resource_map import ResourceMap
from ranger_cdap.engine.model.problem import PolicyIssue, ProblemCode
from ranger_cdap.ranger_model.download import SecurityZoneInfo
from ranger_cdap.ranger_model.policy import PolicyResource

UNZONED = ""
"""Name of the zone of policies outside all zones."""

UNREADABLE_ZONE = "(unreadable)"
"""Zone of resources that may be in a zone with an unreadable resource: all access is denied."""

UNKNOWN_ZONE = "(unknown)"
"""Zone without policies that any resource may be in where zones are not known."""

NO_ZONES_KNOWN = "the security zones are not known"
"""Reason why a request is undecided."""

DENY_ALL = deny_all_policy([COMMON_OPTIONS], "it may be in a security zone with an unreadable resource")
"""The only policy of `UNREADABLE_ZONE`."""


def _no_levels(place: str) -> PolicyIssue:
    return PolicyIssue(ProblemCode.NO_HIERARCHY, place, "it has no levels")


def _level(values: list[str], options: LevelOptions | None) -> PolicyResource:
    return PolicyResource(values=values, is_recursive=options is not None and options.zones_recursive)


class ZoneTable:
    """Zones by resource. `issues` are about unreadable resources of zones.

    Unless `lenient`, a resource that may match such an unreadable one, and no readable one of the same zone, is in
    `UNREADABLE_ZONE` instead. With `lenient` unreadable resources are ignored, as in Ranger.
    """

    def __init__(self, zones: Mapping[str, SecurityZoneInfo], model: ServiceModel, *, lenient: bool) -> None:
        resources: list[tuple[PolicyResourceMatcher, tuple[str, bool]]] = []
        issues: list[PolicyIssue] = []
        for name, zone in zones.items():
            for n, resource in enumerate(zone.resources):
                elements = {level: _level(values, model.levels.get(level)) for level, values in resource.items()}
                place = f"securityZones.{name}.resources[{n}]"
                found = list(resource_issues(elements, model, place)) or ([] if elements else [_no_levels(place)])
                effect = "so it is ignored" if lenient else "so all access to resources that it may cover is denied"
                issues += (
                    PolicyIssue(ProblemCode.UNREADABLE_ZONE_RESOURCE, d.place, f"{d.message}, {effect}") for d in found
                )
                if found and not lenient:
                    resources.append((deepest_valid_ancestor(elements, model), (name, False)))
                elif elements and (matcher := compile_resource(elements, model)) is not None:
                    resources.append((matcher, (name, True)))
        self.issues = tuple(issues)
        self.unreadable_everywhere = any(not certain and not matcher.path for matcher, (_, certain) in resources)
        """True if any resource may be in a zone with an unreadable resource."""
        self.resources = ResourceMap(((matcher, zone) for matcher, zone in resources if matcher.path), model)

    def of(self, path: Path | None, values: tuple[Value, ...]) -> tuple[str, ...]:
        """Return the zones of a resource, in Java's order; for a resource above one of a zone also `UNZONED`."""
        if not path or not (self.resources or self.unreadable_everywhere):
            return ()
        if self.unreadable_everywhere:
            return (UNREADABLE_ZONE,)
        matching = self.resources.matching(path, values)
        certain_zones = {name for (name, certain), _ in matching if certain}
        if any(
            not certain and name not in certain_zones and m is not MatchType.DESCENDANT
            for (name, certain), m in matching
        ):
            return (UNREADABLE_ZONE,)
        zones = dict.fromkeys(name for (name, _), _ in matching)
        if any(match_type is MatchType.DESCENDANT for _, match_type in matching):
            zones[UNZONED] = None
        return hash_order(zones)
