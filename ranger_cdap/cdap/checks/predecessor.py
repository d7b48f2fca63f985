"""The rule of the Java predecessor for CDAP's checks: one of four actions, on the entity alone. Pure.

CDAP's `AuthorizerWrapper` (6.11.1) makes actions of permissions, and CDAP before 6.5 asks for actions itself. The
Ranger binding of cdap-security-extn (`RangerAuthorizer` of ef3fbd9, of 0.6.1 for streams) asks Ranger about each. To
see an entity takes any privilege on it or on anything in it. A check of no permission, which they allowed to
everyone, takes that here.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import msgspec

from ranger_cdap.cdap.answer import Ask, Missing, is_allowed
from ranger_cdap.cdap.checks.check_table import actions
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.entity import EntityId, resolve_entity, type_of
from ranger_cdap.cdap.profile import VISIBLE
from ranger_cdap.errors import InvalidInput

Need = tuple[EntityId, str]
"""An entity, and the action on it: READ, WRITE, EXECUTE, ADMIN or VISIBLE."""

KNOWN_TYPES: Final = frozenset(
    {
        "NAMESPACE",
        "STREAM",
        "ARTIFACT",
        "APPLICATION",
        "PROGRAM",
        "DATASET",
        "DATASET_MODULE",
        "DATASET_TYPE",
        "KERBEROSPRINCIPAL",
    }
)
"""CDAP's types that it could decide: any other raised an exception, and its secure keys were misnamed."""

_INSTANCE: Final = "INSTANCE"
_DATA: Final = frozenset({"DATASET", "SECUREKEY"})


class PredecessorAnswer(msgspec.Struct, frozen=True):
    """Answer of the predecessor, with what the user lacks for it."""

    allowed: bool
    missing: tuple[Missing, ...] = ()

    @property
    def reason(self) -> str:
        """Return the reason of a denial."""
        return "; ".join(map(str, self.missing)) or "the predecessor denies it whatever policies say"


class PredecessorRule(msgspec.Struct, frozen=True):
    """Rule of the predecessor for a check: all needs had to be met; None if it denied whatever policies said."""

    needs: tuple[Need, ...] | None

    def answer(self, person: str, ask: Ask) -> PredecessorAnswer:
        """Return its answer by these policies."""
        if self.needs is None:
            return PredecessorAnswer(allowed=False)
        missing = tuple(
            Missing(person, (action,), entity)
            for entity, action in self.needs
            if not is_allowed(ask(person, entity, action))
        )
        return PredecessorAnswer(not missing, missing)


def predecessor_rule(check: CdapCheck, instance: str) -> PredecessorRule:
    """Return its rule for a check.

    `instance` is the name in policies: a check on the instance that does not name it matched no policy.
    """
    kind = check.entity_type.upper()
    if kind not in KNOWN_TYPES and (kind, check.id_parts) != (_INSTANCE, (instance,)):
        return PredecessorRule(None)
    try:
        entity = resolve_entity(check.entity_type, check.id_parts).entity
    except InvalidInput:
        return PredecessorRule(None)
    on_parent = check.child_type is not None
    return PredecessorRule(
        tuple(dict.fromkeys((entity, action_of(kind, one, on_parent=on_parent)) for one in check.permissions))
        or ((entity, VISIBLE),)
    )


def visible_rule(entity: EntityId) -> PredecessorRule:
    """Return its rule for showing an entity in a list."""
    return PredecessorRule(((entity, VISIBLE),) if entity.type in _types() else None)


@cache
def _types() -> frozenset[str]:
    return frozenset(type_of(name)[0] for name in KNOWN_TYPES)


def action_of(kind: str, permission: str, *, on_parent: bool) -> str:
    """Return the action that it asked for on an entity of that CDAP type (`DATASET`), for a permission or an action."""
    if permission in actions():
        return permission.partition(".")[2]
    if on_parent:
        return VISIBLE if permission == "STANDARD.LIST" else "ADMIN"
    if permission == "STANDARD.GET":
        return "READ" if kind in _DATA else VISIBLE
    if permission == "STANDARD.UPDATE" and kind == "DATASET":
        return "WRITE"
    return "EXECUTE" if permission == "APPLICATION.EXECUTE" else "ADMIN"
