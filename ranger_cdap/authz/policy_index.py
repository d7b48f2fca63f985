"""Index of policies by id, for output to people: their names, and their items that name a user.

The engine alone decides; this index only maps its answer to what administrators see in Ranger.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Self

import msgspec
from msgspec.structs import replace

from ranger_cdap.engine import EngineOptions
from ranger_cdap.engine.view import PUBLIC, USER_MACRO, Privileged, RoleTable, implied, privileged
from ranger_cdap.ranger.refresh.documents import Documents, pieces
from ranger_cdap.ranger_model.decode import (
    UnreadablePolicy,
    decode_policy,
    decode_roles,
    decode_service_policies,
    decode_service_tags,
    decode_user_store,
)
from ranger_cdap.ranger_model.download import ServicePolicies, UserStore
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyResource, policy_text
from ranger_cdap.ranger_model.role import RangerRoles

ALLOW: Final = "policyItems"
ALLOW_EXCEPTIONS: Final = "allowExceptions"
DENY: Final = "denyPolicyItems"
TAG: Final = "tag"
SIDES: Final[Mapping[str, str]] = {
    ALLOW: "allow",
    ALLOW_EXCEPTIONS: "allow exception",
    DENY: "deny",
    "denyExceptions": "deny exception",
}
"""Ranger's names of the lists of items, and those for people."""


@dataclass(frozen=True, slots=True)
class ItemFound:
    """An item of a policy, by its list and its number in it, from 1."""

    policy_id: int
    side: str
    number: int
    item: PolicyItem

    def __str__(self) -> str:
        named = [("user", self.item.users), ("group", self.item.groups), ("role", self.item.roles)]
        who = ", ".join(f"{kind} {name}" for kind, names in named for name in names)
        what = ", ".join(access.type for access in self.item.accesses if access.is_allowed)
        condition = " under a condition" if self.item.conditions else ""
        return f"{SIDES[self.side]} item {self.number} ({who}: {what}{condition})"


@dataclass(frozen=True, slots=True)
class TagPolicy:
    """The tags that a tag policy is about, and its place, to follow its name; both empty for other policies."""

    tags: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class PolicyIndex:
    """The policies of a download by their ids, and the roles."""

    policies: Mapping[int, Policy] = field(default_factory=dict)
    roles: RoleTable = field(default_factory=lambda: RoleTable(RangerRoles()))
    implied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups_in_roles: frozenset[str] = frozenset()
    tag_service: str = ""
    component: str = ""
    users: UserStore | None = None
    privileged: Privileged = field(default_factory=lambda: privileged(EngineOptions(), {}))
    tagged_resources: Sequence[Mapping[str, PolicyResource]] = ()

    @staticmethod
    def of(documents: Documents | None) -> PolicyIndex:
        """Return the index of the documents, that of the last ones again; an empty one without documents."""
        return PolicyIndex() if documents is None else _last_index(documents)

    @classmethod
    def made(cls, documents: Documents) -> Self:
        """Return the index of the documents."""
        download = decode_service_policies(b"".join(pieces(documents.policies)))
        found = {policy.id: policy for policy in readable_policies(download) if policy.id is not None}
        definition = download.service_def
        more = {access.name: tuple(access.implied_grants) for access in (definition.access_types if definition else ())}
        roles = decode_roles(documents.roles)
        groups = frozenset(member.name for role in roles.ranger_roles for member in role.groups) - {PUBLIC}
        linked, store = download.tag_policies, documents.users
        return cls(
            policies=found,
            roles=RoleTable(roles),
            implied={name: to for name, to in more.items() if to},
            groups_in_roles=groups,
            tag_service=linked.service_name if linked else "",
            component=definition.name if definition else "",
            users=None if store is None else decode_user_store(store),
            privileged=privileged(EngineOptions(), download.service_config),
            tagged_resources=_tagged(documents),
        )

    @property
    def names_the_user(self) -> bool:
        """Return true if a policy's resource may depend on the user, so that it may be about any of them."""
        return any(
            "{" in value
            for policy in self.policies.values()
            for resources in (policy.resources, *policy.additional_resources)
            for level in resources.values()
            for value in level.values
        )

    def tagged(self, policy_id: int) -> TagPolicy:
        """Return the tags that a tag policy is about; empty for other policies."""
        policy = self.policies.get(policy_id)
        if policy is None or TAG not in policy.resources:
            return TagPolicy()
        tags = " or ".join(f"`{name}`" for name in policy.resources[TAG].values)
        return TagPolicy(f"the tag {tags}", f" about the tag {tags} in the tag service `{self.tag_service}`")

    def named(self, policy_id: int, version: int | None = None) -> str:
        """Return `policy 12 "kv readers" (zone finance, version 3)`; empty for no policy."""
        if policy_id < 0:
            return ""
        policy = self.policies.get(policy_id, Policy())
        return policy_text(policy_id, policy.name, policy.zone_name, version)

    def document(self, policy_id: int) -> dict[str, object] | None:
        """Return the id, name and zone of a policy for JSON output."""
        if policy_id < 0:
            return None
        policy = self.policies.get(policy_id)
        return {
            "id": policy_id,
            "name": None if policy is None else policy.name,
            "zone": policy and (policy.zone_name or None),
        }

    def items(
        self, policy_id: int, side: str, user: str, groups: Collection[str], actions: Collection[str]
    ) -> list[ItemFound]:
        """Return the items of one list that name the user, by name, group or role, and one of the access types."""
        policy = self.policies.get(policy_id)
        if policy is None:
            return []
        items = policy.item_lists()[side]
        roles = self.roles.of(user, groups)
        wanted = {f"{self.component}:{action}" for action in actions} if TAG in policy.resources else set(actions)
        more = {} if TAG in policy.resources else self.implied
        return [
            ItemFound(policy_id, side, number, item)
            for number, item in enumerate(items, 1)
            if _speaks_of(item, user, groups, roles) and not implied(item.accesses, more).isdisjoint(wanted)
        ]


@lru_cache(maxsize=1)
def _last_index(documents: Documents) -> PolicyIndex:
    return PolicyIndex.made(documents)


def _tagged(documents: Documents) -> tuple[Mapping[str, PolicyResource], ...]:
    return (
        ()
        if documents.tags is None
        else tuple(one.resource_elements for one in decode_service_tags(documents.tags).service_resources)
    )


def users_of(store: UserStore) -> frozenset[str]:
    """Return all users of Ranger's user store, also those without groups."""
    return frozenset(store.user_group_mapping) | frozenset(store.user_attr_mapping)


def readable_policies(download: ServicePolicies) -> Iterator[Policy]:
    """Yield the readable policies of a download, of its zones and tags; the engine reports the unreadable ones."""
    yield from resource_policies(download)
    yield from readable(download.tag_policies.policies if download.tag_policies else ())


def resource_policies(download: ServicePolicies) -> Iterator[Policy]:
    """Yield the readable policies of a download on resources, those of a zone with its name."""
    yield from readable(download.policies or ())
    for name, zone in download.security_zones.items():
        yield from (replace(policy, zone_name=name) for policy in readable(zone.policies))


def readable(raws: Iterable[msgspec.Raw]) -> Iterator[Policy]:
    """Yield those policies that can be decoded."""
    for raw in raws:
        with suppress(UnreadablePolicy):
            yield decode_policy(raw)


def _speaks_of(item: PolicyItem, user: str, groups: Collection[str], roles: Collection[str]) -> bool:
    return (
        user in item.users
        or USER_MACRO in item.users
        or PUBLIC in item.groups
        or not set(groups).isdisjoint(item.groups)
        or not set(roles).isdisjoint(item.roles)
    )
