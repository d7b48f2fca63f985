"""Policies of several entities: the grants of one creator on entities of one type in a namespace, on equal terms. Pure.

Each entity is a resource of its own (`additionalResources`), with exactly one value per level, so that no value of one
entity combines with that of another. Law: the policy allows what policies of the single entities would, and no more.
"""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple, Self
from uuid import UUID, uuid5

import msgspec

from ranger_cdap.cdap.entity import EntityId, entity_types
from ranger_cdap.cdap.grant import CREATORS_LABEL, Grant, comparable, grant_for, items_of, resources_of
from ranger_cdap.errors import UnsafeGrant
from ranger_cdap.ranger_model.policy import Policy, PolicyResource

MOST_ENTITIES: Final = 100
"""Entities per policy: a change rewrites one policy, and so many resources are 13 kB (benchmarks/layouts.py)."""

DESCRIPTION: Final = (
    "What the creator of these entities got by creating them. Written by ranger-cdap sync, which removes an entity that"
    " is deleted."
)

_GUIDS: Final = UUID("0c9d6f0e-52ab-4b8f-8d0a-6e4b8c0b1d57")
_LONGEST_USER: Final = 80
_NUMBER: Final = re.compile(r"creator .* ([1-9][0-9]{0,8}) [0-9a-f]{8}", re.DOTALL)


class SharedTerms(msgspec.Struct, frozen=True):
    """Everything that the grants of one policy have in common; `namespace`: empty for what is in none."""

    instance: str
    namespace: str
    type: str
    user: str
    accesses: tuple[str, ...]
    delegate_admin: bool = False
    group: str = ""

    @classmethod
    def of(cls, entity: EntityId, grant: Grant, *, delegate_admin: bool, group: str = "") -> Self:
        """Return the terms of a grant; namespaces themselves are in none."""
        namespace = "" if entity.type == "namespace" else entity.namespace or ""
        instance = grant.resource["instance"]
        return cls(instance, namespace, entity.type, grant.user, grant.accesses, delegate_admin, group)

    @property
    def key(self) -> str:
        """Return what identifies the terms: equal always, and different for different terms."""
        return str(uuid5(_GUIDS, json.dumps(msgspec.structs.astuple(self))))


class PolicyPlace(NamedTuple):
    """One of the policies of equal terms, numbered from 1; the text `<key>/<number>` stands for it in the ledger."""

    key: str
    number: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the place of a text.

        Raises:
            ValueError: it is not the text of a place.
        """
        key, _, number = text.partition("/")
        return cls(key, int(number))

    @property
    def guid(self) -> str:
        """Return the guid of the policy."""
        return str(uuid5(UUID(self.key), str(self.number)))

    def __str__(self) -> str:
        return f"{self.key}/{self.number}"


class SharedPolicy(NamedTuple):
    """Content of a policy of several entities."""

    terms: SharedTerms
    number: int
    entities: frozenset[EntityId]

    @property
    def place(self) -> PolicyPlace:
        """Return the place that the terms give the policy."""
        return PolicyPlace(self.terms.key, self.number)


def shared_policy(content: SharedPolicy, service: str, *, repeats: int = 0) -> Policy:
    """Return the policy of these entities.

    It always has more than one resource: a single entity is listed twice. So Ranger never takes it for the policy of
    exactly that entity, which an administrator or a grant may change, and a Ranger that ignores `additionalResources`
    is noticed at the first grant. The first entity is listed `repeats` times more, which changes no decision, but
    Ranger allows no second policy of exactly the same list.

    Raises:
        UnsafeGrant: there is no entity, or a grant does not pass the allow-list.
    """
    terms, place = content.terms, content.place
    grants = [_grant(terms, entity) for entity in sorted(content.entities)]
    if not grants:
        raise UnsafeGrant("a policy of no entity would match everything, so it is never sent")
    first, *others = [resources_of(grant) for grant in grants]
    return Policy(
        guid=place.guid,
        name=shared_name(terms, place),
        service=service,
        description=DESCRIPTION,
        resources=first,
        additional_resources=[*others, *[first] * (repeats if others else max(1, repeats))],
        policy_items=items_of(grants[0], delegate_admin=terms.delegate_admin, group=terms.group),
        policy_labels=[CREATORS_LABEL],
    )


def shared_name(terms: SharedTerms, place: PolicyPlace) -> str:
    """Return the name of a policy; the guid's beginning keeps policies of other terms apart."""
    user = terms.user.replace("/", "_")[:_LONGEST_USER]
    within = f" in {terms.namespace}" if terms.namespace else ""
    return f"creator {user}, {terms.type}{within} {place.number} {place.guid[:8]}"


def read_shared(policy: Policy, *, any_guid: bool = False) -> SharedPolicy | None:
    """Return the content of a policy of several entities; `None` if it is not one, or was edited in any field.

    The guid, which Ranger never changes, proves the terms: it is that of exactly the items, type and namespace there.
    With `any_guid` only the name proves them, as in a file without guids.
    """
    number = _NUMBER.fullmatch(policy.name)
    if number is None or not policy.policy_items or len(policy.policy_items[0].users) != 1:
        return None
    item = policy.policy_items[0]
    found = [_entity(resources) for resources in (policy.resources, *policy.additional_resources)]
    entities = [entity for _, entity in filter(None, found)]
    instances = {instance for instance, _ in filter(None, found)}
    if len(entities) != len(found) or len(instances) != 1 or len({entity.type for entity in entities}) != 1:
        return None
    group = next((group for other in policy.policy_items[1:] for group in other.groups), "")
    try:
        accesses = [access.type for access in item.accesses]
        grant = grant_for(entities[0], item.users[0], instances.pop(), accesses, non_creators=())
        terms = SharedTerms.of(entities[0], grant, delegate_admin=item.delegate_admin, group=group)
        content = SharedPolicy(terms, int(number[1]), frozenset(entities))
        written = shared_policy(content, policy.service, repeats=len(entities) - len(content.entities))
    except UnsafeGrant:
        return None
    guid = written.guid if any_guid else policy.guid
    return content if comparable(written) == comparable(msgspec.structs.replace(policy, guid=guid)) else None


def named_entities(policy: Policy, instance: str) -> frozenset[EntityId]:
    """Return the entities that single resources of a policy are exactly on, of any author."""
    found = (_entity(resources) for resources in (policy.resources, *policy.additional_resources))
    return frozenset(entity for there, entity in filter(None, found) if there == instance)


def _grant(terms: SharedTerms, entity: EntityId) -> Grant:
    grant = grant_for(entity, terms.user, terms.instance, terms.accesses, non_creators=())
    if SharedTerms.of(entity, grant, delegate_admin=terms.delegate_admin, group=terms.group) != terms:
        raise UnsafeGrant(f"`{entity}` is not of the type or namespace of the other entities of its policy")
    return grant


def _entity(resources: dict[str, PolicyResource]) -> tuple[str, EntityId] | None:
    """Return the instance and the one entity that a resource is on; an application with all its programs is one."""
    values = {level: resource.values for level, resource in resources.items()}
    plain = all(resource == PolicyResource(values=resource.values) for resource in resources.values())
    if not plain or any(len(several) != 1 for several in values.values()):
        return None
    levels = frozenset(values)
    if values.get("program") == ["*"]:
        levels -= {"program"}
    for kind in entity_types().values():
        if frozenset(kind.path) == levels:
            return values[kind.path[0]][0], EntityId(kind.name, tuple(values[level][0] for level in kind.path[1:]))
    return None
