"""Subjects and entities of a matrix: those that policies about a namespace name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod
from typing import Final

from ranger_cdap.authz.known_names import may_match
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.entity import EntityId, EntityType, entity_id, entity_types
from ranger_cdap.cdap.pattern import EntityPattern, entity_pattern
from ranger_cdap.engine.view import OWNER_MACRO, PUBLIC, USER_MACRO
from ranger_cdap.errors import InvalidEntity, InvalidInput
from ranger_cdap.ranger_model.policy import Policy, PolicyResource

Named = EntityId | EntityPattern

_NAMESPACE: Final = "namespace"
_MOST: Final = 20_000
_WILD: Final = re.compile(r"[*?{]")
_WIDENED: Final = re.compile(r"(\*|\?|\{[^}]*\})+")


def named_entities(book: PolicyIndex, namespace: EntityId) -> set[Named]:
    """Return the namespace, the entities that policies name or tags are on, and their ancestors; wild ones as patterns.

    Raises:
        InvalidInput: they name too many entities to read.
    """
    found: set[Named] = {namespace}
    named = (resources for policy, resources in _about(book, namespace.parts[0]) if policy.is_enabled)
    for resources in (*named, *_within(book.tagged_resources, namespace.parts[0])):
        found.update(_entities(namespace, resources))
        if len(found) > _MOST:
            raise _too_many(namespace)
    return found


def named_people(book: PolicyIndex, namespace: EntityId) -> tuple[set[str], set[str]]:
    """Return the users and groups that policies about the namespace name, those of their roles, and super users."""
    policies = [policy for policy, _ in _about(book, namespace.parts[0])]
    policies += (policy for policy in book.policies.values() if _NAMESPACE not in policy.resources)
    items = [item for policy in policies if policy.is_enabled for item in policy.items()]
    roles = {role for item in items for role in item.roles}
    users = {user for item in items for user in item.users} | book.roles.users_of(roles)
    groups = {group for item in items for group in item.groups}
    groups |= {group for group in book.groups_in_roles if not roles.isdisjoint(book.roles.of(None, (group,)))}
    special = book.privileged
    users, groups = users | special.super_users, groups | special.super_groups
    return users - {"", USER_MACRO, OWNER_MACRO}, groups - {"", PUBLIC}


def _about(book: PolicyIndex, namespace: str) -> Iterator[tuple[Policy, Mapping[str, PolicyResource]]]:
    return (
        (policy, resources)
        for policy in book.policies.values()
        for resources in _within((policy.resources, *policy.additional_resources), namespace)
    )


def _within(
    resources: Iterable[Mapping[str, PolicyResource]], namespace: str
) -> Iterator[Mapping[str, PolicyResource]]:
    for one in resources:
        level = one.get(_NAMESPACE)
        if level is not None and (level.is_excludes or any(may_match(v, namespace) for v in level.values or ("*",))):
            yield one


def _entities(namespace: EntityId, resources: Mapping[str, PolicyResource]) -> Iterator[Named]:
    kind = _types().get(frozenset(resources) | {"instance"})
    if kind is None:
        return
    below = [resources[level] for level in kind.path[2:]]
    values = [("*",) if level.is_excludes or not level.values else tuple(level.values) for level in below]
    if prod(map(len, values)) > _MOST:
        raise _too_many(namespace)
    for names in product(*values):
        # Rows have no `?` and no macros: wider ones show what such values give, as a part of the row.
        parts = (*namespace.parts, *(_WIDENED.sub("*", name) for name in names))
        for depth in range(2, len(parts) + 1):
            level = kind.path[depth]
            if depth < len(parts) and any(map(_WILD.search, parts[:depth])):
                continue
            try:
                known = any(map(_WILD.search, parts[:depth]))
                yield entity_pattern(level, parts[:depth]) if known else entity_id(level, parts[:depth])
            except InvalidEntity:
                continue  # CDAP has no such name, so there is nothing to show


def _too_many(namespace: EntityId) -> InvalidInput:
    return InvalidInput(
        f"policies name more than {_MOST:,} entities in {namespace}; use `ranger-cdap access --format parquet`"
    )


def _types() -> Mapping[frozenset[str], EntityType]:
    return {frozenset(kind.path): kind for kind in entity_types().values() if _NAMESPACE in kind.path}
