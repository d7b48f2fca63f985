"""Resolution of CDAP's permission checks to operations of a profile. Pure; the table is `checks.toml`.

CDAP asks for a set of permissions on an entity, or for one on the parent of an entity that it does not name. One
permission serves several operations; the calling method of CDAP, if known, selects one. CDAP before 6.5 asks for
actions (`ACTION.READ`): that privilege on the entity itself, in every profile. Laws: no check resolves to nothing; a
user who passes a check of permissions without a hint may perform every operation that the check can stand for (except
seeing a namespace).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache

import msgspec

from ranger_cdap.cdap.checks.check_table import (
    actions,
    calling_methods,
    cell_of,
    incidental_methods,
    known_permissions,
    own_row,
    replacement,
)
from ranger_cdap.cdap.context import ROLES
from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityId, ResolvedEntity, ResourceMapping, entity_type, resolve_entity, type_of
from ranger_cdap.cdap.existence import Existence, ExistenceOf
from ranger_cdap.cdap.profile import Operation, Profile, parse_privilege
from ranger_cdap.errors import InvalidEntity, InvalidInput

_PERMISSION = re.compile(r"[A-Z][A-Z0-9_]*\.[A-Z][A-Z0-9_]*", re.ASCII)

# The core policy for a permission, where a profile has no row for the operation.
_CORE = {"CREATE": "create", "GET": "get", "UPDATE": "update", "DELETE": "delete", "LIST": "list"}

_MOST_KNOWN = 1_000

# An empty set of permissions: some privilege must exist.
_NO_PERMISSION = ""

# The row of last resort.
_OTHER = Operation(
    name="entity.other", entity="instance", requirements=(), alternatives=((parse_privilege("ADMIN entity"),),)
)


class Unknown(StrEnum):
    """Unknown element of a check; the check is still decided, strictly, and counted."""

    HINT = "unknown_hint"
    PERMISSION = "unknown_permission"
    ENTITY_TYPE = "unknown_entity_type"


_Resolution = tuple[list[Operation], Unknown | None]


class CdapCheck(msgspec.Struct, frozen=True, gc=False):
    """Call of CDAP's authorizer: an entity as its type and idParts, and permissions like `STANDARD.GET`.

    `child_type` makes it a check on the parent (`enforceOnParent`). `hint`: the calling methods of CDAP, as
    `Class.method`, nearest first, separated by blanks. `from_container`: it comes from a running program.
    """

    entity_type: str
    id_parts: tuple[str, ...]
    permissions: tuple[str, ...]
    child_type: str | None = None
    hint: str | None = None
    from_container: bool = False


class CheckedOperation(msgspec.Struct, frozen=True, gc=False):
    """Operation and the entity it is evaluated on, by `compose`."""

    operation: Operation
    entity: EntityId

    def __str__(self) -> str:
        return f"{self.operation.name} on {self.entity}"


class Resolved(msgspec.Struct, frozen=True, gc=False):
    """Entity of a check, the operations that must all be allowed (at least one), and the unknown elements to count."""

    target: ResolvedEntity
    operations: tuple[CheckedOperation, ...]
    unknown: frozenset[Unknown]


@dataclass(eq=False, slots=True)
class CheckTable:
    """Resolver of CDAP's checks to the operations of one profile."""

    profile: Profile
    _rows: dict[tuple[str, str, str], Operation] = field(default_factory=dict)
    _known: dict[tuple[str, str, str, bool, str | None, bool], _Resolution] = field(default_factory=dict)

    def resolve(self, check: CdapCheck, existence: ExistenceOf | None = None) -> Resolved:
        """Return the operations that the check maps to; without `existence`, of an entity that does not exist yet.

        Raises:
            InvalidEntity: the parts do not fit the entity type, or no child of that type lies in the entity.
            InvalidInput: one of the permissions is not of the form `STANDARD.GET`.
        """
        for permission in check.permissions:
            if not _PERMISSION.fullmatch(permission):
                raise InvalidInput(f"`{permission[:80]}` is not a permission of CDAP; write it like `STANDARD.GET`")
        resolved = resolve_entity(check.entity_type, check.id_parts)
        entity, mapping, kind = resolved.entity, resolved.mapping, resolved.entity.type
        if check.child_type is not None:
            kind, mapping_of_child = type_of(check.child_type)
            mapping = max(mapping, mapping_of_child)
            if mapping is ResourceMapping.ITSELF and entity.type != entity_type(kind).parent:
                raise InvalidEntity(f"`{entity}` cannot contain a {kind}")
        unknown = {Unknown.ENTITY_TYPE} if mapping is ResourceMapping.UNKNOWN else set()
        operations: dict[tuple[str, object], CheckedOperation] = {}
        for permission in check.permissions or (_NO_PERMISSION,):
            if mapping is ResourceMapping.ITSELF:
                # The rows of a check depend on no name: most of CDAP's checks differ in names only.
                key = (entity.type, kind, permission, check.child_type is None, check.hint, check.from_container)
                if key not in self._known:
                    if len(self._known) >= _MOST_KNOWN:
                        self._known.clear()
                    self._known[key] = self._rows_for(check, kind, entity, permission)
                rows, not_known = self._known[key]
                if existence is not None and check.child_type is None:
                    rows = self._by_existence(rows, permission, entity, existence)
            else:
                rows, not_known = _without_resource(mapping, entity, permission)
            unknown |= {not_known} if not_known else set()
            operations |= {(row.name, row.alternatives): CheckedOperation(row, entity) for row in rows}
        return Resolved(resolved, tuple(operations.values()), frozenset(unknown))

    def list_row(self, kind: str) -> Operation:
        """Return the row that decides which entities of that type a list shows; the instance, in no list, is seen."""
        return see_row(kind) if entity_type(kind).parent is None else self.profile.operation(f"{kind}.list")

    def row(self, kind: str, permission: str, verb: str) -> Operation:
        """Return the row `<kind>.<verb>` reduced to one user, one entity and its ancestors.

        CDAP checks other entities that take part separately, each for the user concerned.
        """
        key = (kind, permission, verb)
        if key not in self._rows:
            self._rows[key] = _alone(self._found(kind, permission, verb))
        return self._rows[key]

    def _rows_for(self, check: CdapCheck, kind: str, entity: EntityId, permission: str) -> _Resolution:
        if permission == _NO_PERMISSION:
            return [_on(entity, "any_privilege")], None
        on_parent = check.child_type is not None
        group, _, name = permission.partition(".")
        if permission in actions() and not on_parent:
            return [_on(entity, name.lower(), of=group.lower())], None
        cell = cell_of(kind, name, on_parent=on_parent)
        if cell is None or permission not in known_permissions():
            return [_on(entity, "other")], Unknown.PERMISSION
        methods = calling_methods(check.hint)
        if not frozenset(methods).isdisjoint(incidental_methods(kind, name)):
            return [_on(entity, "incidental")], None
        picked = cell.select_by_hint(methods)
        if picked is None and cell.visibility_only:
            return [_on(entity, "see")], None
        verbs = (picked,) if picked else cell.container if check.from_container and cell.container else cell.strictest
        rows = [self.row(kind, name, verb) for verb in verbs]
        if on_parent and name == "LIST":
            rows = [_listed(row, entity, filtered=cell.filtered) for row in rows]
        elif on_parent:
            rows = [_created(row, entity) for row in rows]
        return rows, Unknown.HINT if methods and not picked and cell.has_hints else None

    def _by_existence(
        self, rows: list[Operation], permission: str, entity: EntityId, existence: ExistenceOf
    ) -> list[Operation]:
        """Return the rows for an entity that may exist: that of creating it, of replacing it, or both.

        The application of a preview is always new.
        """
        name = permission.partition(".")[2]
        change = replacement(entity.type, name)
        if change is None or load_creations().is_of_preview(entity):
            return rows
        creating, replacing = (self.row(entity.type, name, verb) for verb in (change.created, change.existing))
        if creating not in rows or (known := existence(entity)) is Existence.ABSENT:
            return rows
        kept = [row for row in rows if row != creating] if known is Existence.THERE else rows
        return [*kept, replacing]

    def _found(self, kind: str, permission: str, verb: str) -> Operation:
        """Return the profile's row, else ours, else its core policy for the operation or the permission, else ADMIN."""
        name = f"{kind}.{verb}"
        if found := self.profile.rows.get(name) or own_row(kind, verb):
            return found
        core = self.profile.core if entity_type(kind).parent else {}
        return replace(core.get(verb) or core.get(_CORE.get(permission, "")) or _OTHER, name=name, entity=kind)


def see_row(kind: str) -> Operation:
    """Return the row for seeing an entity of that type: any privilege on it or below it."""
    return _of_kind(kind, "see", "entity")


def incidental_row(kind: str) -> Operation:
    """Return the row for a check that is a part of an operation on another entity: any privilege on the namespace."""
    return _of_kind(kind, "incidental", "entity")


def _alone(row: Operation) -> Operation:
    """Return the row without privileges on entities in roles; the checked user needs all the others."""
    alternatives = (
        dict.fromkeys(replace(p, person="requesting", conditions=()) for p in alternative if p.target not in ROLES)
        for alternative in row.alternatives
    )
    return replace(row, alternatives=tuple(dict.fromkeys(map(tuple, filter(None, alternatives)))), names={})


def _created(row: Operation, parent: EntityId) -> Operation:
    """Return the row for creating an unnamed entity: only its privileges on ancestors."""
    own = ("entity", row.entity)
    alternatives = tuple(a for a in row.alternatives if not any(p.target in own for p in a))
    return replace(row, alternatives=alternatives) if alternatives else _on(parent, "other")


def _listed(row: Operation, parent: EntityId, *, filtered: bool) -> Operation:
    """Return the row for listing: its privileges on the parent, also if it lists by entity and CDAP does not."""
    if row.lists == "parent":
        return row
    return replace(_on(parent, "see" if filtered else "list_whole"), name=row.name)


def _without_resource(mapping: ResourceMapping, entity: EntityId, permission: str) -> _Resolution:
    """Return the row for a permission on an entity without a resource, decided on its nearest ancestor.

    A check of any privilege counts as GET.
    """
    known = permission in known_permissions() | actions() or permission == _NO_PERMISSION
    verb = permission.partition(".")[2].lower() or "get"
    inner = mapping is ResourceMapping.WITHIN and known and own_row("inner", verb) is not None
    return [_on(entity, verb, of="inner") if inner else _on(entity, "other")], None if known else Unknown.PERMISSION


def _on(entity: EntityId, verb: str, *, of: str = "entity") -> Operation:
    """Return our row for entities of any type, applied to this one."""
    return _of_kind(entity.type, verb, of)


@cache
def _of_kind(kind: str, verb: str, of: str) -> Operation:
    name = verb if of == "entity" else f"{of}_{verb}"
    return replace(own_row(of, verb) or _OTHER, name=f"{kind}.{name}", entity=kind)
