"""What a matrix is about: entities and people that policies about a namespace name; the engine says the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Final

from ranger_cdap.cdap.entity import EntityId, EntityType, entity_id, entity_types
from ranger_cdap.cdap.pattern import EntityPattern, entity_pattern
from ranger_cdap.cli.policy_index import PolicyIndex, items_of
from ranger_cdap.engine.compiled.items import OWNER_MACRO, PUBLIC, USER_MACRO
from ranger_cdap.engine.model.wire import Policy, PolicyResource
from ranger_cdap.errors import InvalidEntity, InvalidInput

Named = EntityId | EntityPattern

_NAMESPACE: Final = "namespace"
_MOST: Final = 20_000
_WILD: Final = re.compile(r"[*?{]")


def named_entities(book: PolicyIndex, namespace: EntityId) -> set[Named]:
    """The namespace, what policies name in it, and what that lies in; names with a star as patterns.

    Raises:
        InvalidInput: they name more than anybody can look at.
    """
    found: set[Named] = {namespace}
    for policy, resources in _about(book, namespace.parts[0]):
        if policy.isEnabled:
            found.update(_entities(namespace, resources))
        if len(found) > _MOST:
            raise _too_many(namespace)
    return found


def named_people(book: PolicyIndex, namespace: EntityId) -> tuple[set[str], set[str]]:
    """The users and groups that policies about the namespace, those about tags, and the roles in them name."""
    policies = [policy for policy, _ in _about(book, namespace.parts[0])]
    policies += (policy for policy in book.policies.values() if "tag" in policy.resources)
    items = [item for policy in policies if policy.isEnabled for item in items_of(policy)]
    roles = {role for item in items for role in item.roles}
    users = {user for item in items for user in item.users} | book.roles.users_of(roles)
    groups = {group for item in items for group in item.groups}
    groups |= {group for group in book.groups_in_roles if not roles.isdisjoint(book.roles.of(None, (group,)))}
    return users - {"", USER_MACRO, OWNER_MACRO}, groups - {"", PUBLIC}


def _about(book: PolicyIndex, namespace: str) -> Iterator[tuple[Policy, Mapping[str, PolicyResource]]]:
    for policy in book.policies.values():
        for resources in (policy.resources, *policy.additionalResources):
            level = resources.get(_NAMESPACE)
            if level is not None and (level.isExcludes or any(_may_be(v, namespace) for v in level.values or ("*",))):
                yield policy, resources


def _may_be(value: str, namespace: str) -> bool:
    """Whether a policy's value may mean the namespace; one too many shows an empty column, one too few hides one."""
    if "{" in value:
        return True
    pattern = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in value)
    return re.fullmatch(re.sub(r"(\.\*)+", ".*", pattern), namespace, re.IGNORECASE) is not None


def _entities(namespace: EntityId, resources: Mapping[str, PolicyResource]) -> Iterator[Named]:
    kind = _types().get(frozenset(resources) | {"instance"})
    if kind is None:
        return
    below = [resources[level] for level in kind.path[2:]]
    values = [("*",) if level.isExcludes or not level.values else tuple(level.values) for level in below]
    if prod(map(len, values)) > _MOST:
        raise _too_many(namespace)
    for names in product(*values):
        parts = (*namespace.parts, *names)
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
    return InvalidInput(f"policies name more than {_MOST:,} entities in {namespace}; use `ranger-cdap review`")


def _types() -> Mapping[frozenset[str], EntityType]:
    return {frozenset(kind.path): kind for kind in entity_types().values() if _NAMESPACE in kind.path}
