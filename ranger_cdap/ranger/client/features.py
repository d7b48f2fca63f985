"""Features that an older Ranger Admin lacks, by its answers: no release reports itself over REST (pure).

Source: Ranger's code at the tags release-ranger-2.1.0 to 2.9.0, not run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ranger_cdap.errors import RangerTooOld

EXPRESSION: Final = "_expression"


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of Ranger: its name, the first release that has it, and what does not work without it."""

    name: str
    since: str
    without: str

    def __str__(self) -> str:
        return f"this Ranger Admin has no {self.name} (Ranger {self.since} and later do): {self.without}"


MARKERS: Final = Feature(
    "marker access types", "2.5", "policies cannot name `_READ`, `_ALL` and the like; name READ, WRITE, ADMIN, EXECUTE"
)
SCRIPTS: Final = Feature(
    "script conditions", "2.4", f"policies cannot have the condition `{EXPRESSION}`, which may be switched off"
)
RESOURCES: Final = Feature(
    "policies with several resources",
    "2.4",
    "it drops `additionalResources`, so the sync job cannot write grants of creators, and a policy has one resource",
)


def missing_features(definition: Mapping[str, Any]) -> tuple[Feature, ...]:
    """Return what Ranger lacks, by a definition as it answers it: each release adds its parts to every definition.

    Without the markers and `_expression` it is taken for older than 2.4, though 2.4 may have the latter switched off.
    """
    has_markers = bool(definition.get("markerAccessTypes"))
    has_scripts = any(row.get("name") == EXPRESSION for row in definition.get("policyConditions") or ())
    lacking = ((RESOURCES, not (has_markers or has_scripts)), (SCRIPTS, not has_scripts), (MARKERS, not has_markers))
    return tuple(feature for feature, lacks in lacking if lacks)


def require_resources(name: str, sent: Sequence[object], answered: Sequence[object]) -> None:
    """Require that Ranger kept the further resources of a policy that was written.

    Raises:
        RangerTooOld: it dropped some, so that the policy allows, or denies, on the first resource only.
    """
    if len(answered) < len(sent):
        raise RangerTooOld(
            f"Ranger Admin dropped `additionalResources` of the policy `{name}`, as releases before {RESOURCES.since} "
            "do: the policy is about its first resource only; write one policy per resource"
        )
