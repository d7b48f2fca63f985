"""Privileges required for an operation: a row, applied to an entity, a user and a context. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from ranger_cdap.cdap.context import ROLES, Context
from ranger_cdap.cdap.entity import EntityId, entity_id, entity_type
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.pattern import EntityPattern, entity_pattern
from ranger_cdap.cdap.profile import DirectPrivilege, Operation, Privilege
from ranger_cdap.errors import InvalidInput

Related = Mapping[str, tuple[EntityId | EntityPattern, ...]]

# A custom dataset has a module and a type, both named after its class.
_OF_A_CLASS = {role: ROLES[role] for role in ("modules", "types")}


class RequiredPrivilege(msgspec.Struct, frozen=True, gc=False):
    """Required privilege of a user, in a capacity (`requesting`, `impersonated`, `master`): one of `actions`.

    `source` is the privilege of the row; `requirements_of` returns the ids that ask for it.
    """

    capacity: str
    person: str
    actions: tuple[str, ...]
    entity: EntityId | EntityPattern
    source: Privilege


def plan(
    operation: Operation,
    entity: EntityId,
    person: str,
    context: Context = Context(),  # noqa: B008 a frozen value
    options: Options = Options(),  # noqa: B008 a frozen value
) -> tuple[tuple[RequiredPrivilege, ...], ...]:
    """Return the alternatives of the operation that can hold; all privileges of one of them must be held.

    An alternative that needs an entity the context does not name cannot hold (see `unnamed`). A row that needs
    privileges only above its entity also accepts an ancestor: a namespace, to list its datasets.

    Raises:
        InvalidInput: the entity is not of the operation's type or not well-formed, or the user has no name.
    """
    return required_privileges(operation, entity_id(entity.type, entity.parts), person, context, options)


def required_privileges(
    operation: Operation, entity: EntityId, person: str, context: Context, options: Options
) -> tuple[tuple[RequiredPrivilege, ...], ...]:
    """Return the alternatives of `plan` for an entity whose parts have been checked.

    Raises:
        InvalidInput: the entity is not of the operation's type, or the user has no name.
    """
    row = options.applied_to(operation)
    if entity.type != row.entity and (row.names or entity.type not in entity_type(row.entity).path):
        raise _another_type(row, entity)
    if not person:
        raise InvalidInput("the requesting user has no name")
    if row.direct is not None and entity.type == row.entity:
        return tuple([tuple([_direct(one, entity, person, context) for one in needed]) for needed in row.direct])
    related = related_entities(row, entity, context)
    alternatives = []
    for alternative in row.alternatives:
        applying = [privilege for privilege in alternative if _applies(privilege, context)]
        needed = [(privilege, _targets(privilege, row, entity, related)) for privilege in applying]
        if all(entities or "given" in privilege.conditions for privilege, entities in needed):
            alternatives.append(tuple(_needs(needed, person, context)))
    return tuple(dict.fromkeys(alternatives))


def unnamed(operation: Operation, context: Context) -> tuple[tuple[str, ...], ...]:
    """Return what to name so that an alternative can hold: for each of those that lack fewest, the roles left empty."""
    named = {role for role, entities in context.related.items() if entities} | set(operation.names)
    lacking = [
        tuple(
            dict.fromkeys(
                privilege.target
                for privilege in alternative
                if privilege.target in ROLES and "given" not in privilege.conditions and _applies(privilege, context)
                if privilege.target not in named
            )
        )
        for alternative in operation.alternatives
    ]
    fewest = min(map(len, lacking), default=0)
    return tuple(dict.fromkeys(roles for roles in lacking if len(roles) == fewest))


def _another_type(row: Operation, entity: EntityId) -> InvalidInput:
    return InvalidInput(f"operation `{row.name}` applies to a {row.entity}, not to `{entity}`")


def _applies(privilege: Privilege, context: Context) -> bool:
    return "impersonated" not in privilege.conditions or context.effective is not None


def related_entities(row: Operation, entity: EntityId, context: Context) -> Related:
    """Return the entities by role: those of the context, and those that the row itself names."""
    if not row.names:
        return _paired(context.related)
    levels = dict(zip(entity_type(entity.type).path[1:], entity.parts, strict=True))

    def filled(template: EntityPattern) -> EntityId | EntityPattern:
        parts = template.parts
        for level, value in levels.items():
            parts = tuple(part.replace(f"<{level}>", value) for part in parts)
        return entity_pattern(template.type, parts)

    named = {role: tuple(map(filled, templates)) for role, templates in row.names.items()}
    return _paired({**context.related, **named})


def _paired(related: Related) -> Related:
    """Return the roles with the module and the type of each class that one of them names (document 004)."""
    if not related:
        return related
    classes = dict.fromkeys(one.parts for role in _OF_A_CLASS for one in related.get(role, ()))
    if not classes:
        return related
    pairs = {role: tuple(entity_pattern(kind, parts) for parts in classes) for role, kind in _OF_A_CLASS.items()}
    return {**related, **pairs}


def _targets(
    privilege: Privilege, row: Operation, entity: EntityId, related: Related
) -> tuple[EntityId | EntityPattern, ...]:
    if privilege.target in ROLES:
        return related.get(privilege.target, ())
    path = entity_type(row.entity).path
    level = {"entity": path[-1], "parent": path[-2] if len(path) > 1 else ""}.get(privilege.target, privilege.target)
    target = entity.ancestor(level)
    if target is None:
        raise _another_type(row, entity)
    return (target,)


def _needs(
    needed: Iterable[tuple[Privilege, tuple[EntityId | EntityPattern, ...]]],
    person: str,
    context: Context,
) -> Iterable[RequiredPrivilege]:
    for privilege, entities in needed:
        capacity, name = _who(privilege.person, person, context)
        yield from (RequiredPrivilege(capacity, name, privilege.actions, entity, privilege) for entity in entities)


def _direct(one: DirectPrivilege, entity: EntityId, person: str, context: Context) -> RequiredPrivilege:
    privilege, depth = one.privilege, one.depth
    target = entity if depth is None else EntityId(one.type, entity.parts[:depth])
    capacity = "requesting"
    if privilege.person != "requesting":
        capacity, person = _who(privilege.person, person, context)
    return RequiredPrivilege(capacity, person, privilege.actions, target, privilege)


def _who(holder: str, requesting: str, context: Context) -> tuple[str, str]:
    if holder in ("effective", "executing") and context.effective is not None:
        return "impersonated", context.effective
    return ("master", context.master) if holder in ("executing", "master") else ("requesting", requesting)
