"""Borders of security zones: where a policy has an effect, by the engine's own table. Pure.

Laws: without a policy that has no effect, every request for an access to one resource has the same answer; policies of
the zones that `effective_zones` returns for a resource decide on every part of it. What is in doubt has an effect:
excluded values, macros, resources of zones that overlap, and policies that are partly on the right side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from ranger_cdap.engine.view import (
    UNZONED,
    PolicyResourceMatcher,
    ResourceMatcher,
    ServiceModel,
    ZoneTable,
    compile_resource,
    compile_service_def,
)
from ranger_cdap.ranger_model.download import SecurityZoneInfo
from ranger_cdap.ranger_model.policy import Policy, PolicyResource
from ranger_cdap.ranger_model.service_def import ServiceDef
from ranger_cdap.tools.analysis.logic.level_values import find_value, without_macros
from ranger_cdap.tools.analysis.symbols.meeting import on_one_path

_ZoneResources = Sequence[tuple[PolicyResourceMatcher, tuple[str, bool]]]
"""Resources of zones, each with its zone and whether it is readable."""


@dataclass(frozen=True, slots=True)
class PolicyZones:
    """The security zones of a service, for policies that are not compiled."""

    model: ServiceModel
    table: ZoneTable

    @classmethod
    def of(cls, zones: Mapping[str, SecurityZoneInfo], definition: ServiceDef) -> Self:
        """Return the zones of these names and resources."""
        model = compile_service_def(definition)
        return cls(model, ZoneTable(zones, model, lenient=False))

    def of_resource(self, resource: Mapping[str, PolicyResource]) -> tuple[str, ...]:
        """Return `effective_zones` of a resource."""
        compiled = compile_resource(resource, self.model)
        return effective_zones(compiled, self.table) if compiled else (UNZONED,)

    def without_effect(self, policy: Policy) -> str:
        """Return why a policy decides nothing; empty if it might decide something."""
        compiled = [compile_resource(one, self.model) for one in (policy.resources, *policy.additional_resources)]
        return without_effect(policy.zone_name, [one for one in compiled if one], self.table) if all(compiled) else ""


def without_effect(zone: str, resources: Sequence[PolicyResourceMatcher], table: ZoneTable) -> str:
    """Return why a policy of a zone, or outside zones, decides nothing; empty if it might decide something."""
    if zone:
        own = [one for one, (name, _) in table.resources.items if name == zone]
        is_outside = own and not any(_may_meet(one, inside) for one in resources for inside in own)
        return (
            f"it belongs to security zone `{zone}`, but its resource is outside it, so it decides nothing"
            if is_outside
            else ""
        )
    around = [_zone_around(one, table.resources.items) for one in resources]
    names = " and ".join(f"`{name}`" for name in dict.fromkeys(around))
    zones = f"zone{'s' * (len(set(around)) > 1)} {names}"
    return f"its resource is in security {zones}, where only policies of the zone decide" if all(around) else ""


def effective_zones(own: PolicyResourceMatcher, table: ZoneTable) -> tuple[str, ...]:
    """Return the zones that decide on a resource or a part of it; `UNZONED` unless all of it is in one of them."""
    near = [
        (one, zone)
        for one, (zone, _) in table.resources.items
        if on_one_path(own.path, one.path) and _may_meet(own, one)
    ]
    around = [(one, zone) for one, zone in near if len(own.path) > one.last_specific]
    names = tuple(dict.fromkeys(zone for _, zone in around))
    # Above a zone, the policies outside zones decide, even if another resource of a zone is around.
    is_inside = len(names) == 1 and len(around) == len(near) and any(_is_covered(own, one) for one, _ in around)
    return names if is_inside else (UNZONED, *names)


def _zone_around(own: PolicyResourceMatcher, resources: _ZoneResources) -> str | None:
    """Return the zone with a resource around this one, unless another zone resource may be there, too."""
    near = [(one, zone) for one, zone in resources if _may_meet(own, one)]
    if len(near) != 1:
        return None
    (around, (zone, readable)) = near[0]
    is_inside = own.path[: len(around.path)] == around.path and _is_covered(own, around)
    return zone if readable and is_inside else None


def _may_meet(one: PolicyResourceMatcher, other: PolicyResourceMatcher) -> bool:
    """Return whether a resource may be at, above or below both, as far as their levels are the same."""
    for level, other_level, own, its in zip(one.path, other.path, one.elements, other.elements, strict=False):
        if level != other_level:
            break
        if _is_plain(own) and not its.match_any and find_value([own, without_macros(its)], ()) is None:
            return False
    return True


def _is_covered(own: PolicyResourceMatcher, around: PolicyResourceMatcher) -> bool:
    return all(
        its.match_any or (_is_plain(mine) and find_value([mine], [without_macros(its)]) is None)
        for mine, its in zip(own.elements, around.elements, strict=False)
    )


def _is_plain(element: ResourceMatcher) -> bool:
    return not (element.match_any or element.excludes or element.dynamic)
