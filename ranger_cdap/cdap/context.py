"""Context of an operation: what it involves besides its entity and the requesting user (document 004)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.cdap.pattern import EntityPattern, entity_pattern
from ranger_cdap.errors import InvalidInput, suggestion

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
    "applications": "application",
    "artifacts": "artifact",
    "keys": "secure_key",
    "streams": "stream",
}
"""Roles of entities in an operation, and the type that each role requires.

`artifact` is what an application is deployed from, `jar` the artifact that an uploaded jar becomes, `principal` the
impersonated one; `datasets`, `modules` and `types` are created (or, for modules and types, used) on the way; the other
roles with `datasets` are those that a running program uses, by the kind of use; `applications`, `artifacts`, `keys` and
`streams` are what a namespace holds when it is deleted.
"""

CAPACITIES: Mapping[str, str] = {
    "requesting": "the requesting user",
    "impersonated": "the impersonated user",
    "master": "the CDAP master user",
}
"""Capacities in which a user takes part, and the phrase for each."""

_JAR = re.compile(r"-\d+(?:\.\d+)?(?:\.\d+)?(?:[.-](?P<suffix>.*))?\.jar\Z", re.ASCII)
_VERSION_SUFFIX = re.compile(r"[a-zA-Z0-9.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Context:
    """Related entities by role, the impersonated user (a short name), and the user CDAP itself runs as.

    A Kerberos principal in `related` also means impersonation, of its short name unless `impersonated` is set.
    """

    related: Mapping[str, tuple[EntityId | EntityPattern, ...]] = field(default_factory=dict)
    impersonated: str | None = None
    master: str = "cdap"

    def __post_init__(self) -> None:
        for role, entities in self.related.items():
            _check_role(role, entities)
        if self.related.get("artifact") and self.related.get("jar"):
            raise InvalidInput("an application is deployed from an artifact or from a jar, not from both")
        principals = self.related.get("principal", ())
        if len(principals) > 1 or any(isinstance(principal, EntityPattern) for principal in principals):
            raise InvalidInput("an operation impersonates one principal, not several")
        if self.effective == "":
            raise InvalidInput("the impersonated user has no name")
        if not self.master:
            raise InvalidInput("the CDAP master user has no name")

    @property
    def effective(self) -> str | None:
        """Return the impersonated user; `None` without impersonation."""
        principal = self.related.get("principal")
        if self.impersonated is not None or not principal:
            return self.impersonated
        return principal[0].parts[0].partition("@")[0].partition("/")[0]


def artifact_of_jar(namespace: str, file_name: str) -> EntityId:
    """Return the artifact that CDAP makes of an uploaded jar: `shop-1.0.0.jar` becomes `shop`, of version `1.0.0`.

    The name ends at the first hyphen that a version follows; without a version CDAP takes no jar (CDAP's `ArtifactId`
    and `ArtifactVersion`).

    Raises:
        InvalidInput: the file name is not of the form `name-version.jar`.
        InvalidEntity: the name before the version is not one that CDAP allows.
    """
    found = _JAR.search(file_name)
    if found is None or not (found["suffix"] is None or _VERSION_SUFFIX.fullmatch(found["suffix"])):
        raise InvalidInput(f"`{file_name}` is not the name of a jar that CDAP takes; write it like `shop-1.0.0.jar`")
    return entity_id("artifact", (namespace, file_name[: found.start()]))


def _check_role(role: str, entities: tuple[EntityId | EntityPattern, ...]) -> None:
    kind = ROLES.get(role)
    if kind is None:
        raise InvalidInput(f"`{role}` is not a role in an operation{suggestion(role, ROLES, list_all=True)}")
    for entity in entities:
        if entity.type != kind:
            raise InvalidInput(f"`{role}` must be of type {kind}, not `{entity}`")
        if isinstance(entity, EntityPattern):
            entity_pattern(entity.type, entity.parts)
        else:
            entity_id(entity.type, entity.parts)
