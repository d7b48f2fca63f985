"""Policies that decide nothing because their resource is on the other side of a security zone's border. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ranger_cdap.engine.view import UNZONED, EngineView
from ranger_cdap.tools.analysis.policy_zones import without_effect
from ranger_cdap.tools.policies.lint import LintCode, LintFinding


def never_in_zone(view: EngineView) -> Iterator[LintFinding]:
    """Yield a finding for each policy outside zones on resources inside one, and for each of a zone on others."""
    return (
        LintFinding(entry.id, entry.name, "resources", LintCode.NEVER_IN_ZONE, message)
        for zone, repository in (*view.zones.items(), (UNZONED, view.default))
        for entry in repository.all()
        # A costly policy may decide on more, for long names.
        if entry.resources and not entry.costly
        if (message := without_effect(zone, entry.resources, view.zone_table))
    )
