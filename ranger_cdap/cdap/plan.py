"""Who needs which privilege on which entity for an operation: a row, put to an entity, a person and a context. Pure."""

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


class Need(msgspec.Struct, frozen=True):
    """A person, in a capacity (`requesting`, `impersonated`, `master`), needs one of `actions` on the entity."""

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
) -> tuple[tuple[Need, ...], ...]:
    """The alternatives of the operation that can hold; to be allowed, every need of one of them must be met.

    An alternative that needs an entity nobody named cannot hold (`unnamed` says which). A row that asks only what lies
    above its entity may be asked of that as well: of a namespace, whether its datasets may be listed.

    Raises:
        InvalidInput: the entity is not of the operation's type, not well-formed, or the person has no name.
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
    """The roles that the operation's alternatives need and the context leaves empty."""
    named = {role for role, entities in context.related.items() if entities} | set(operation.names)
    needed = [
        privilege.target
        for alternative in operation.alternatives
        for privilege in alternative
        if privilege.target in ROLES and "given" not in privilege.conditions and _applies(privilege, context)
    ]
    return tuple(dict.fromkeys(role for role in needed if role not in named))


def _another_type(row: Operation, entity: EntityId) -> InvalidInput:
    return InvalidInput(f"operation `{row.name}` is about a {row.entity}, not about `{entity}`")


def _applies(privilege: Privilege, context: Context) -> bool:
    return "impersonated" not in privilege.conditions or context.effective is not None


def _related(row: Operation, entity: EntityId, context: Context) -> Related:
    """What the context names, and what the row names itself."""
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
) -> Iterable[Need]:
    for privilege, entities in needed:
        capacity, name = _who(privilege.person, person, context)
        for entity in entities:
            yield Need(capacity, name, privilege.actions, entity, row.requirements)


def _who(asked: str, requesting: str, context: Context) -> tuple[str, str]:
    if asked in ("effective", "executing") and context.effective is not None:
        return "impersonated", context.effective
    if asked in ("executing", "master"):
        return "master", context.master
    return "requesting", requesting
