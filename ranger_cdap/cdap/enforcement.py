"""What is enforced, and what becomes of the rest: authorization rolled out in phases (requirement S001-P2). Pure."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import StrEnum

from ranger_cdap.cdap.entity import entity_type
from ranger_cdap.cdap.profile import Profile
from ranger_cdap.errors import ConfigError

EVERY = "*"


class UnenforcedMode(StrEnum):
    """What becomes of an operation that is not enforced: decided, told and allowed, or denied."""

    REPORT = "report"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Enforcement:
    """The operations (`dataset.get`, `namespace.*`) and entity types that are enforced; None: all of them.

    An operation is enforced if both lists have it.
    """

    operations: frozenset[str] | None = None
    entity_types: frozenset[str] | None = None
    outside: UnenforcedMode = UnenforcedMode.DENY

    @property
    def everything(self) -> bool:
        """Whether there is nothing outside."""
        return self.operations is None and self.entity_types is None

    def covers(self, operation: str, kind: str) -> bool:
        """Whether the operation on an entity of that type is enforced."""
        if self.entity_types is not None and kind not in self.entity_types:
            return False
        about, _, _ = operation.partition(".")
        return self.operations is None or not self.operations.isdisjoint((operation, f"{about}.{EVERY}"))

    def __str__(self) -> str:
        if self.everything:
            return "everything is enforced"
        limits = {"operations": self.operations, "entity types": self.entity_types}
        told = (f"{what}: {', '.join(sorted(names)) or 'none'}" for what, names in limits.items() if names is not None)
        return f"enforced {'; '.join(told)}; all else: {self.outside.value}"


def enforcement(
    profile: Profile,
    operations: tuple[str, ...] | None,
    entity_types: tuple[str, ...] | None,
    outside: UnenforcedMode | None,
) -> Enforcement:
    """The enforcement of the settings `[enforce]`, whose names must be those of the profile.

    Raises:
        ConfigError: a name is unknown, or something is outside and `enforce.outside` is not set.
        UnknownEntityType: there is no such entity type.
    """
    if operations is None and entity_types is None:
        return Enforcement()
    if outside is None:
        raise ConfigError("`enforce.outside` must say what becomes of all that is not enforced: `report` or `deny`")
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
        near = difflib.get_close_matches(name, profile.rows, n=1, cutoff=0.4)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise ConfigError(f"`enforce.operations` names `{name}`, which profile `{profile.name}` does not have{hint}")
