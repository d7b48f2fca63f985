"""`CheckTable`: what a permission check of CDAP asks for, as operations of a profile. Pure; the table is `checks.toml`.

CDAP asks in its own words: a set of permissions on an entity, or one on the parent of an entity it does not name. One
permission serves several operations; the method of CDAP that asks tells which, where it is known. Laws: no check
resolves to nothing; whoever passes a check without a hint may do every operation the check can stand for (seeing a
namespace apart).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from ranger_cdap.cdap.checks.check_table import calling_methods, cell_of, known_permissions, own_row
from ranger_cdap.cdap.context import ROLES
from ranger_cdap.cdap.entity import EntityId, ResourceMapping, entity_type, resolve_entity, type_of
from ranger_cdap.cdap.profile import Operation, Profile, parse_privilege
from ranger_cdap.errors import InvalidEntity, InvalidInput

_PERMISSION = re.compile(r"[A-Z][A-Z0-9_]*\.[A-Z][A-Z0-9_]*", re.ASCII)

# The core policy that speaks of a permission, where a profile has no row for the operation.
_CORE = {"CREATE": "create", "GET": "get", "UPDATE": "update", "DELETE": "delete", "LIST": "list"}

# An empty set of permissions: some privilege must exist.
_NO_PERMISSION = ""

# What decides where nothing else does.
_OTHER = Operation(
    name="entity.other", entity="instance", requirements=(), alternatives=((parse_privilege("ADMIN entity"),),)
)


class Unknown(StrEnum):
    """What the table does not know of a check; it is decided all the same, strictly, and counted."""

    HINT = "unknown_hint"
    PERMISSION = "unknown_permission"
    ENTITY_TYPE = "unknown_entity_type"


_Asked = tuple[list[Operation], Unknown | None]


@dataclass(frozen=True, slots=True)
class CdapCheck:
    """A call of CDAP's authorizer: an entity as its type and idParts, and permissions like `STANDARD.GET`.

    `child_type` makes it a check on the parent (`enforceOnParent`). `hint`: the methods of CDAP that ask, as
    `Class.method`, nearest first, separated by blanks. `from_container`: it comes from a program that runs.
    """

    entity_type: str
    id_parts: tuple[str, ...]
    permissions: tuple[str, ...]
    child_type: str | None = None
    hint: str | None = None
    from_container: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """An operation and the entity it is asked about; `compose` answers it."""

    operation: Operation
    entity: EntityId

    def __str__(self) -> str:
        return f"{self.operation.name} on {self.entity}"


@dataclass(frozen=True, slots=True)
class Resolved:
    """The questions that must all be answered by yes (never none), and what to count."""

    questions: tuple[Question, ...]
    unknown: frozenset[Unknown] = frozenset()


class CheckTable:
    """What CDAP's checks ask for under one profile."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._rows: dict[tuple[str, str, str], Operation] = {}

    def resolve(self, check: CdapCheck) -> Resolved:
        """The operations the check stands for.

        Raises:
            InvalidEntity: the parts do not fit the entity type, or no child of that type lies in the entity.
            InvalidInput: one of the permissions is no permission at all.
        """
        for permission in check.permissions:
            if not _PERMISSION.fullmatch(permission):
                raise InvalidInput(f"`{permission[:80]}` is no permission of CDAP; write it like `STANDARD.GET`")
        placed = resolve_entity(check.entity_type, check.id_parts)
        entity, standing, kind = placed.entity, placed.standing, placed.entity.type
        if check.child_type is not None:
            kind, standing_of_child = type_of(check.child_type)
            standing = max(standing, standing_of_child)
            if standing is ResourceMapping.ITSELF and entity.type != entity_type(kind).parent:
                raise InvalidEntity(f"a {kind} is not in `{entity}`")
        unknown = {Unknown.ENTITY_TYPE} if standing is ResourceMapping.UNKNOWN else set()
        questions: dict[tuple[str, object], Question] = {}
        for permission in check.permissions or (_NO_PERMISSION,):
            if standing is ResourceMapping.ITSELF:
                operations, not_known = self._asked(check, kind, entity, permission)
            else:
                operations, not_known = _without_resource(standing, entity, permission)
            unknown |= {not_known} if not_known else set()
            for operation in operations:
                questions[operation.name, operation.alternatives] = Question(operation, entity)
        return Resolved(tuple(questions.values()), frozenset(unknown))

    def row(self, kind: str, permission: str, verb: str) -> Operation:
        """The row `<kind>.<verb>` as a check asks for it: of one person, and of what lies on the way to one entity.

        CDAP asks about whatever else takes part in checks of their own, each of the person it concerns.
        """
        key = (kind, permission, verb)
        if key not in self._rows:
            self._rows[key] = _alone(self._found(kind, permission, verb))
        return self._rows[key]

    def _asked(self, check: CdapCheck, kind: str, entity: EntityId, permission: str) -> _Asked:
        """The rows for a permission on an entity, or on a child of it that has a resource of its own."""
        if permission == _NO_PERMISSION:
            return [_on(entity, "any_privilege")], None
        on_parent = check.child_type is not None
        name = permission.partition(".")[2]
        cell = cell_of(kind, name, on_parent=on_parent)
        if cell is None or permission not in known_permissions():
            return [_on(entity, "other")], Unknown.PERMISSION
        methods = calling_methods(check.hint)
        picked = cell.picked(methods)
        if picked is None and cell.sees:
            return [_on(entity, "see")], None
        verbs = (picked,) if picked else cell.container if check.from_container and cell.container else cell.strictest
        rows = [self.row(kind, name, verb) for verb in verbs]
        if on_parent and name == "LIST":
            rows = [_listed(row, entity, filtered=cell.filtered) for row in rows]
        elif on_parent:
            rows = [_created(row, entity) for row in rows]
        return rows, Unknown.HINT if methods and not picked and cell.tells else None

    def _found(self, kind: str, permission: str, verb: str) -> Operation:
        """The profile's row, else ours, else its core policy for the operation or for the permission, else ADMIN."""
        name = f"{kind}.{verb}"
        if found := self._profile.rows.get(name) or own_row(kind, verb):
            return found
        core = self._profile.core if entity_type(kind).parent else {}
        return replace(core.get(verb) or core.get(_CORE.get(permission, "")) or _OTHER, name=name, entity=kind)


def _alone(row: Operation) -> Operation:
    """The row without what it needs of entities in other roles; all the rest is needed of the person asked about."""
    alternatives = (
        dict.fromkeys(replace(p, person="requesting", conditions=()) for p in alternative if p.target not in ROLES)
        for alternative in row.alternatives
    )
    return replace(row, alternatives=tuple(dict.fromkeys(map(tuple, filter(None, alternatives)))), names={})


def _created(row: Operation, parent: EntityId) -> Operation:
    """Creating an entity nobody names: what the row needs of what lies above it."""
    own = ("entity", row.entity)
    alternatives = tuple(a for a in row.alternatives if not any(p.target in own for p in a))
    return replace(row, alternatives=alternatives) if alternatives else _on(parent, "other")


def _listed(row: Operation, parent: EntityId, *, filtered: bool) -> Operation:
    """Listing: what the row needs of the parent; where it asks for each and CDAP does not, the parent decides."""
    if row.lists == "parent":
        return row
    return _on(parent, "see" if filtered else "list_whole")


def _without_resource(standing: ResourceMapping, entity: EntityId, permission: str) -> _Asked:
    """What a permission needs of the nearest parent; where any privilege would do, as much as for looking at it."""
    known = permission in known_permissions() or permission == _NO_PERMISSION
    verb = permission.partition(".")[2].lower() or "get"
    inner = standing is ResourceMapping.WITHIN and known and own_row("inner", verb) is not None
    return [_on(entity, verb, of="inner") if inner else _on(entity, "other")], None if known else Unknown.PERMISSION


def _on(entity: EntityId, verb: str, *, of: str = "entity") -> Operation:
    """One of our rows for any entity, about this one."""
    return _of_kind(entity.type, verb, of)


@cache
def _of_kind(kind: str, verb: str, of: str) -> Operation:
    return replace(own_row(of, verb) or _OTHER, name=f"{kind}.{verb}", entity=kind)
