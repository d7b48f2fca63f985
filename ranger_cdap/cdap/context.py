"""`Context`: what an operation involves besides its entity and the person who asks (document 004)."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.cdap.pattern import EntityPattern, entity_pattern
from ranger_cdap.errors import InvalidInput

ROLES: Mapping[str, str] = {
    "artifact": "artifact",
    "jar": "artifact",
    "principal": "principal",
    "datasets": "dataset",
    "modules": "dataset_module",
    "types": "dataset_type",
    "programs": "program",
    "read_datasets": "dataset",
    "written_datasets": "dataset",
    "created_datasets": "dataset",
    "local_datasets": "dataset",
    "external_datasets": "dataset",
}
"""The parts entities play in an operation, and the type each of them must be of.

`artifact` is what an application is deployed from, `jar` the artifact an uploaded jar becomes, `principal` whom CDAP
impersonates; `datasets`, `modules` and `types` are what is made (or, of modules and types, used) on the way; the others
say what a running program does with datasets.
"""

CAPACITIES: Mapping[str, str] = {
    "requesting": "the requesting user",
    "impersonated": "the impersonated user",
    "master": "the CDAP master user",
}
"""In which capacity a person takes part, and how a sentence says so."""


@dataclass(frozen=True, slots=True)
class Context:
    """What takes part by role, whom CDAP impersonates (a short user name), and the user CDAP itself runs as.

    A Kerberos principal among `related` is impersonation, too: of its short name, unless `impersonated` says whom.
    """

    related: Mapping[str, tuple[EntityId | EntityPattern, ...]] = field(default_factory=dict)
    impersonated: str | None = None
    master: str = "cdap"

    def __post_init__(self) -> None:
        for role, entities in self.related.items():
            _check_role(role, entities)
        if self.related.get("artifact") and self.related.get("jar"):
            raise InvalidInput("an application is made from an artifact or from a jar, not from both")
        principals = self.related.get("principal", ())
        if len(principals) > 1 or any(isinstance(principal, EntityPattern) for principal in principals):
            raise InvalidInput("an operation impersonates one principal, not several")
        if self.effective == "":
            raise InvalidInput("the impersonated user has no name")
        if not self.master:
            raise InvalidInput("the CDAP master user has no name")

    @property
    def effective(self) -> str | None:
        """The impersonated user; `None` without impersonation."""
        principal = self.related.get("principal")
        if self.impersonated is not None or not principal:
            return self.impersonated
        return principal[0].parts[0].partition("@")[0].partition("/")[0]


def _check_role(role: str, entities: tuple[EntityId | EntityPattern, ...]) -> None:
    kind = ROLES.get(role)
    if kind is None:
        near = difflib.get_close_matches(role, ROLES, n=1, cutoff=0.4)
        hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(ROLES)}"
        raise InvalidInput(f"`{role}` is no part an entity plays in an operation; {hint}")
    for entity in entities:
        if entity.type != kind:
            raise InvalidInput(f"what plays the part of `{role}` is of type {kind}, not `{entity}`")
        if isinstance(entity, EntityPattern):
            entity_pattern(entity.type, entity.parts)
        else:
            entity_id(entity.type, entity.parts)
