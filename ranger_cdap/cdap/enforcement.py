"""Enforced operations and the handling of all others, for a rollout in phases (requirement S001-P2). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ranger_cdap.cdap.entity import entity_type
from ranger_cdap.cdap.profile import Profile
from ranger_cdap.errors import ConfigError, suggestion

EVERY = "*"


class UnenforcedMode(StrEnum):
    """Handling of an operation that is not enforced: decided, reported and allowed, or denied."""

    REPORT = "report"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Enforcement:
    """Enforced operations (`dataset.get`, `namespace.*`) and entity types; None: all of them.

    An operation is enforced if both lists contain it.
    """

    operations: frozenset[str] | None = None
    entity_types: frozenset[str] | None = None
    outside: UnenforcedMode = UnenforcedMode.DENY

    @property
    def everything(self) -> bool:
        """Return true if every operation is enforced."""
        return self.operations is None and self.entity_types is None

    def is_enforced(self, operation: str, kind: str) -> bool:
        """Return true if the operation on an entity of that type is enforced."""
        if self.entity_types is not None and kind not in self.entity_types:
            return False
        about, _, _ = operation.partition(".")
        return self.operations is None or not self.operations.isdisjoint((operation, f"{about}.{EVERY}"))

    def __str__(self) -> str:
        if self.everything:
            return "everything is enforced"
        lists = {"operations": self.operations, "entity types": self.entity_types}
        limits = (f"{kind}: {', '.join(sorted(names)) or 'none'}" for kind, names in lists.items() if names is not None)
        return f"enforced {'; '.join(limits)}; all else: {self.outside.value}"


def enforcement(
    profile: Profile,
    operations: tuple[str, ...] | None,
    entity_types: tuple[str, ...] | None,
    outside: UnenforcedMode | None,
) -> Enforcement:
    """Return the enforcement that the settings `[enforce]` describe; the profile must know their names.

    Raises:
        ConfigError: a name is unknown, or not everything is enforced and `enforce.outside` is not set.
        UnknownEntityType: there is no such entity type.
    """
    if operations is None and entity_types is None:
        return Enforcement()
    if outside is None:
        raise ConfigError("`enforce.outside` is not set; set it to `report` or `deny`, for all that is not enforced")
    for kind in entity_types or ():
        entity_type(kind)
    for name in operations or ():
        _check_operation(profile, name)
    return Enforcement(
        None if operations is None else frozenset(operations),
        None if entity_types is None else frozenset(entity_types),
        outside,
    )


def _check_operation(profile: Profile, name: str) -> None:
    kind, _, verb = name.partition(".")
    if verb == EVERY:
        entity_type(kind)
    elif name not in profile.rows and verb not in profile.core:
        hint = suggestion(name, profile.rows)
        raise ConfigError(f"`enforce.operations` names `{name}`, which profile `{profile.name}` does not have{hint}")
