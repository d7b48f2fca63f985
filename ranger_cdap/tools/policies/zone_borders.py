"""Policies that decide nothing because their resource is on the other side of a security zone's border. Pure.

Law: without such a policy, every request for an access to one resource has the same answer. What is in doubt is no
finding: excluded values, macros, resources of zones that overlap, and policies that are partly on the right side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ranger_cdap.engine.view import EngineView, PolicyEntry, PolicyResourceMatcher, ResourceMatcher
from ranger_cdap.tools.analysis.logic.level_values import find_value, without_macros
from ranger_cdap.tools.policies.lint import LintCode, LintFinding

_ZoneResources = Sequence[tuple[PolicyResourceMatcher, tuple[str, bool]]]
"""Resources of zones, each with its zone and whether it is readable."""


def never_in_zone(view: EngineView) -> Iterator[LintFinding]:
    """Yield a finding for each policy outside zones on resources inside one, and for each of a zone on others."""
    resources = view.zone_table.resources.items
    for zone, repository in view.zones.items():
        own = [one for one, (name, _) in resources if name == zone]
        for entry in filter(_is_certain, repository.all() if own else ()):
            if not any(_may_meet(one, inside) for one in entry.resources for inside in own):
                message = f"it belongs to security zone `{zone}`, but its resource is outside it, so it decides nothing"
                yield LintFinding(entry.id, entry.name, "resources", LintCode.NEVER_IN_ZONE, message)
    for entry in filter(_is_certain, view.default.all() if resources else ()):
        around = [_zone_around(one, resources) for one in entry.resources]
        if all(around):
            names = list(dict.fromkeys(around))
            zones = f"zone{'s' * (len(names) > 1)} " + " and ".join(f"`{name}`" for name in names)
            message = f"its resource is in security {zones}, where only policies of the zone decide"
            yield LintFinding(entry.id, entry.name, "resources", LintCode.NEVER_IN_ZONE, message)


def _is_certain(entry: PolicyEntry) -> bool:
    """Return whether a policy has a resource and decides on nothing else; a costly one may, for long names."""
    return bool(entry.resources) and not entry.costly


def _zone_around(own: PolicyResourceMatcher, resources: _ZoneResources) -> str | None:
    """Return the zone with a resource around this one, unless another zone resource may be there, too."""
    near = [(one, zone) for one, zone in resources if _may_meet(own, one)]
    if len(near) != 1:
        return None
    (around, (zone, readable)) = near[0]
    return zone if readable and _is_inside(own, around) else None


def _may_meet(one: PolicyResourceMatcher, other: PolicyResourceMatcher) -> bool:
    """Return whether a resource may be at, above or below both, as far as their levels are the same."""
    for level, other_level, own, its in zip(one.path, other.path, one.elements, other.elements, strict=False):
        if level != other_level:
            break
        if _is_plain(own) and not its.match_any and find_value([own, without_macros(its)], ()) is None:
            return False
    return True


def _is_inside(own: PolicyResourceMatcher, around: PolicyResourceMatcher) -> bool:
    levels = len(around.path)
    return own.path[:levels] == around.path and all(
        its.match_any or (_is_plain(mine) and find_value([mine], [without_macros(its)]) is None)
        for mine, its in zip(own.elements, around.elements, strict=False)
    )


def _is_plain(element: ResourceMatcher) -> bool:
    return not (element.match_any or element.excludes or element.dynamic)
