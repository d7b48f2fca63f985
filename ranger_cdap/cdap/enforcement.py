"""Enforced operations and the handling of all others, for a rollout in phases (requirement S001-P2). Pure."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from ranger_cdap.cdap.checks.check_table import verbs_of
from ranger_cdap.cdap.entity import entity_type, entity_types
from ranger_cdap.cdap.profile import SYNONYMS, Profile
from ranger_cdap.errors import ConfigError, suggestion

EVERY = "*"

INVALID = "invalid"
"""Name of an invalid check, as `dataset.invalid`: it may be any operation of the type."""


class UnenforcedMode(StrEnum):
    """Handling of an operation that is not enforced: decided, reported and allowed, or denied."""

    REPORT = "report"
    DENY = "deny"


class Enforcement(msgspec.Struct, frozen=True):
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
        """Return true if the operation on an entity of that type is enforced.

        CDAP asks for listing datasets on their namespace: such an operation is about either type. An invalid check is
        enforced if any operation of its type is.
        """
        if self.everything:
            return True
        operation = SYNONYMS.get(operation, operation)
        about, _, verb = operation.partition(".")
        if self.entity_types is not None and self.entity_types.isdisjoint((kind, about)):
            return False
        if verb == INVALID and self.operations is not None:
            return any(name.partition(".")[0] == about for name in self.operations)
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
    kinds: tuple[str, ...] | None,
    outside: UnenforcedMode | None,
) -> Enforcement:
    """Return the enforcement that the settings `[enforce]` describe; the profile or CDAP's checks know their names.

    Raises:
        ConfigError: a name is unknown, or not everything is enforced and `enforce.outside` is not set.
        UnknownEntityType: there is no such entity type.
    """
    if operations is None and kinds is None:
        return Enforcement()
    if outside is None:
        raise ConfigError("`enforce.outside` is not set; set it to `report` or `deny`, for all that is not enforced")
    for kind in kinds or ():
        entity_type(kind)
    for name in operations or ():
        _check_operation(profile, name)
    return Enforcement(
        None if operations is None else frozenset(SYNONYMS.get(name, name) for name in operations),
        None if kinds is None else frozenset(kinds),
        outside,
    )


def operation_names(profile: Profile) -> frozenset[str]:
    """Return the operations that can be enforced: those of the profile, and those that CDAP's checks resolve to."""
    core = {f"{kind}.{verb}" for kind, row in entity_types().items() if row.parent for verb in profile.core}
    checked = {f"{kind}.{verb}" for kind in entity_types() for verb in (*verbs_of(kind), INVALID)}
    return frozenset({*profile.rows, *core, *checked, *SYNONYMS})


def _check_operation(profile: Profile, name: str) -> None:
    kind, _, verb = name.partition(".")
    if verb == EVERY:
        entity_type(kind)
    elif name not in (known := operation_names(profile)):
        hint = suggestion(name, sorted(known))
        raise ConfigError(f"`enforce.operations` names `{name}`, not an operation of profile `{profile.name}`{hint}")
