"""Privileges required for an operation: a row, applied to an entity, a user and a context. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from ranger_cdap.cdap.context import ROLES, Context
from ranger_cdap.cdap.entity import EntityId, entity_id, entity_type
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.pattern import EntityPattern, entity_pattern
from ranger_cdap.cdap.profile import Operation, Privilege
from ranger_cdap.errors import InvalidInput

Related = Mapping[str, tuple[EntityId | EntityPattern, ...]]


class RequiredPrivilege(msgspec.Struct, frozen=True):
    """Required privilege of a user, in a capacity (`requesting`, `impersonated`, `master`): one of `actions`."""

    capacity: str
    person: str
    actions: tuple[str, ...]
    entity: EntityId | EntityPattern
    requirements: tuple[str, ...]


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
    row = options.applied_to(operation)
    entity = entity_id(entity.type, entity.parts)
    if entity.type != row.entity and (row.names or entity.type not in entity_type(row.entity).path):
        raise _another_type(row, entity)
    if not person:
        raise InvalidInput("the requesting user has no name")
    related = _related(row, entity, context)
    alternatives = []
    for alternative in row.alternatives:
        applying = [privilege for privilege in alternative if _applies(privilege, context)]
        needed = [(privilege, _targets(privilege, row, entity, related)) for privilege in applying]
        if all(entities or "given" in privilege.conditions for privilege, entities in needed):
            alternatives.append(tuple(_needs(row, needed, person, context)))
    return tuple(dict.fromkeys(alternatives))


def unnamed(operation: Operation, context: Context) -> tuple[str, ...]:
    """Return the roles that the operation's alternatives need and the context leaves empty."""
    named = {role for role, entities in context.related.items() if entities} | set(operation.names)
    needed = [
        privilege.target
        for alternative in operation.alternatives
        for privilege in alternative
        if privilege.target in ROLES and "given" not in privilege.conditions and _applies(privilege, context)
    ]
    return tuple(dict.fromkeys(role for role in needed if role not in named))


def _another_type(row: Operation, entity: EntityId) -> InvalidInput:
    return InvalidInput(f"operation `{row.name}` applies to a {row.entity}, not to `{entity}`")


def _applies(privilege: Privilege, context: Context) -> bool:
    return "impersonated" not in privilege.conditions or context.effective is not None


def _related(row: Operation, entity: EntityId, context: Context) -> Related:
    if not row.names:
        return context.related
    levels = dict(zip(entity_type(entity.type).path[1:], entity.parts, strict=True))

    def filled(template: EntityPattern) -> EntityId | EntityPattern:
        parts = template.parts
        for level, value in levels.items():
            parts = tuple(part.replace(f"<{level}>", value) for part in parts)
        return entity_pattern(template.type, parts)

    return {**context.related, **{role: tuple(map(filled, templates)) for role, templates in row.names.items()}}


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
    row: Operation,
    needed: Iterable[tuple[Privilege, tuple[EntityId | EntityPattern, ...]]],
    person: str,
    context: Context,
) -> Iterable[RequiredPrivilege]:
    for privilege, entities in needed:
        capacity, name = _who(privilege.person, person, context)
        for entity in entities:
            yield RequiredPrivilege(capacity, name, privilege.actions, entity, row.requirements)


def _who(holder: str, requesting: str, context: Context) -> tuple[str, str]:
    if holder in ("effective", "executing") and context.effective is not None:
        return "impersonated", context.effective
    if holder in ("executing", "master"):
        return "master", context.master
    return "requesting", requesting
