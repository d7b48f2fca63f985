"""Accesses of the Java predecessor, as its records name them, and the operations that each may have been. Pure.

It put one access type on one entity to Ranger, and records no operation. Law: whatever check of CDAP it answered by
that access, its operation is among those returned, whichever calling method selects it; except that a check which CDAP
makes as a part of an operation has another record for the operation itself. What CDAP asks of an entity type that it
did not know, it denied without a record: that is returned with the accesses of the same entity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Final

import msgspec

from ranger_cdap.cdap.checks.check_table import actions, cell_of, incidental_methods, known_permissions
from ranger_cdap.cdap.checks.checks import CdapCheck, CheckedOperation, CheckTable, incidental_row, see_row
from ranger_cdap.cdap.entity import EntityId, entity_id, entity_types
from ranger_cdap.cdap.profile import ACTIONS, VISIBLE, Operation
from ranger_cdap.engine import ANY_ACCESS
from ranger_cdap.errors import InvalidInput

_NOT_KNOWN: Final = frozenset({"program.get_history"})
"""Operations that CDAP asks about by an entity type that the predecessor did not know (`PROGRAMREFERENCE`)."""

_SYSTEM_LOGS: Final = "namespace.view_system_logs"
_PREVIEW: Final = "APPLICATION.PREVIEW"
_PREVIEWED: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Names of the applications of previews, which CDAP draws at random."""


_KNOWN_TYPES: Final = frozenset(
    {
        "INSTANCE",
        "NAMESPACE",
        "STREAM",
        "ARTIFACT",
        "APPLICATION",
        "PROGRAM",
        "DATASET",
        "DATASET_MODULE",
        "DATASET_TYPE",
        "KERBEROSPRINCIPAL",
        "SECUREKEY",
    }
)
"""CDAP's types that a record can be about: any other raised an exception. Secure keys were misnamed there."""
_DATA: Final = frozenset({"DATASET", "SECUREKEY"})


class PredecessorAccess(msgspec.Struct, frozen=True):
    """Access that it put to Ranger: READ, WRITE, EXECUTE or ADMIN on an entity, or VISIBLE."""

    entity: EntityId
    action: str


class PossibleOperation(msgspec.Struct, frozen=True):
    """Operation that an access may have been, and CDAP's check for it; None for showing the entity in a list.

    `denied`: it never was, since the predecessor denied the operation whatever policies said.
    """

    operation: CheckedOperation
    check: CdapCheck | None
    denied: bool = False


def known_types() -> frozenset[str]:
    """Return the entity types of its service definition that a record can name."""
    return frozenset(_cdap_types())


def entity_of(kind: str, resource: str, instance: str) -> EntityId | None:
    """Return the entity of a record's path: the values of all levels, the instance first; None if it is of another one.

    Checks on the instance itself often name none.

    Raises:
        InvalidInput: the path does not fit the type.
    """
    levels = len(entity_types()[kind].path)
    # A principal may contain the separator.
    of, *parts = resource.split("/", levels - 1)
    return entity_id(kind, parts) if of == instance or (levels == 1 and not of) else None


def action_of_access(access: str) -> str:
    """Return the action of an access type: `read` is READ, `_any` VISIBLE.

    Raises:
        InvalidInput: it never asked for such an access type.
    """
    if access == ANY_ACCESS:
        return VISIBLE
    if access.upper() in ACTIONS and access.islower():
        return access.upper()
    raise InvalidInput(f"`{access[:80]}` is none of its access types")


def action_of(kind: str, permission: str) -> str:
    """Return the action that it asked for on an entity of that CDAP type (`DATASET`), for a permission or an action.

    CDAP's `AuthorizerWrapper` (6.11.1) makes actions of permissions, and CDAP before 6.5 asks for actions itself; the
    Ranger binding of cdap-security-extn (`RangerAuthorizer` of ef3fbd9, of 0.6.1 for streams) asks Ranger about each.
    """
    if permission in actions():
        return permission.partition(".")[2]
    if permission == "STANDARD.GET":
        return "READ" if kind in _DATA else VISIBLE
    if permission == "STANDARD.UPDATE" and kind == "DATASET":
        return "WRITE"
    return "EXECUTE" if permission == "APPLICATION.EXECUTE" else "ADMIN"


def possible_operations(table: CheckTable, access: PredecessorAccess) -> tuple[PossibleOperation, ...]:
    """Return the operations of the profile that the access may have been, at least one.

    Where no permission of CDAP leads to it, CDAP before 6.5 asked, which decides by that privilege itself.
    """
    found: dict[object, PossibleOperation] = {}
    for one in chain(_listed(table, access), _permitted(table, access)):
        row = one.operation.operation
        found.setdefault((row.name, row.alternatives), one)
    if found:
        return tuple(found.values())
    check = _check(access, f"ACTION.{access.action}")
    return tuple(PossibleOperation(one, check) for one in table.resolve(check).operations)


def _listed(table: CheckTable, access: PredecessorAccess) -> Iterator[PossibleOperation]:
    kind = access.entity.type
    if access.action == VISIBLE and entity_types()[kind].parent is not None:  # no list has the instance
        yield PossibleOperation(CheckedOperation(table.list_row(kind), access.entity), None)


def _permitted(table: CheckTable, access: PredecessorAccess) -> Iterator[PossibleOperation]:
    entity = access.entity
    for permission in sorted(known_permissions()):
        if action_of(_cdap_types()[entity.type], permission) != access.action:
            continue
        if permission == _PREVIEW and not _PREVIEWED.fullmatch(entity.parts[-1] if entity.parts else ""):
            continue
        for row in _rows(table, entity.type, permission.partition(".")[2]):
            if row.name == _SYSTEM_LOGS and entity.parts != ("system",):
                continue
            denied = row.name in _NOT_KNOWN
            yield PossibleOperation(CheckedOperation(row, entity), _check(access, permission), denied)


def _rows(table: CheckTable, kind: str, permission: str) -> Iterator[Operation]:
    cell = cell_of(kind, permission, on_parent=False)
    if cell is None:
        return
    if cell.visibility_only:
        yield see_row(kind)
    if incidental_methods(kind, permission):
        yield incidental_row(kind)
    yield from (
        table.row(kind, permission, verb) for verb in dict.fromkeys((*cell.strictest, *cell.rows, *cell.container))
    )


def _check(access: PredecessorAccess, permission: str) -> CdapCheck:
    entity = access.entity
    parts = entity.parts
    if entity.type == "program":
        kind, _, name = parts[2].partition(".")
        parts = (*parts[:2], kind, name)
    return CdapCheck(_cdap_types()[entity.type], parts or ("",), (permission,))


@cache
def _cdap_types() -> dict[str, str]:
    return {kind: name for kind, row in entity_types().items() for name in row.cdap_names if name in _KNOWN_TYPES}
