"""The policies a decision names by number: their names, and which items of one speak of somebody. For people to read.

The engine alone decides; here its answer is only found again in what Ranger's administrators see.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from ranger_cdap.engine.compiled.items import PUBLIC, USER_MACRO, implied
from ranger_cdap.engine.compiled.roles import RoleTable
from ranger_cdap.engine.model.problem import Unusable
from ranger_cdap.engine.model.wire import (
    Policy,
    PolicyItem,
    RangerRoles,
    ServicePolicies,
    decode_policy,
    decode_roles,
    decode_service_policies,
)
from ranger_cdap.policies.refresh.documents import Documents, pieces

ALLOW: Final = "policyItems"
ALLOW_EXCEPTIONS: Final = "allowExceptions"
DENY: Final = "denyPolicyItems"
SIDES: Final[Mapping[str, str]] = {
    ALLOW: "allow",
    ALLOW_EXCEPTIONS: "allow exception",
    DENY: "deny",
    "denyExceptions": "deny exception",
}
"""The lists of items by Ranger's name, and how people call them."""


@dataclass(frozen=True, slots=True)
class ItemFound:
    """An item of a policy by its list and its place in that, from 1."""

    policy_id: int
    side: str
    number: int
    item: PolicyItem

    def __str__(self) -> str:
        named = [("user", self.item.users), ("group", self.item.groups), ("role", self.item.roles)]
        who = ", ".join(f"{kind} {name}" for kind, names in named for name in names)
        what = ", ".join(access.type for access in self.item.accesses if access.isAllowed)
        condition = " under a condition" if self.item.conditions else ""
        return f"{SIDES[self.side]} item {self.number} ({who}: {what}{condition})"


@dataclass(frozen=True, slots=True)
class PolicyIndex:
    """The policies of a download by their ids, and the roles."""

    policies: Mapping[int, Policy] = field(default_factory=dict)
    roles: RoleTable = field(default_factory=lambda: RoleTable(RangerRoles()))
    implied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups_in_roles: frozenset[str] = frozenset()

    @classmethod
    def of(cls, documents: Documents | None) -> Self:
        """The book of what decides; without documents, an empty one."""
        if documents is None:
            return cls()
        download = decode_service_policies(b"".join(pieces(documents.policies)))
        found = {policy.id: policy for policy in readable_policies(download) if policy.id is not None}
        definition = download.serviceDef
        more = {access.name: tuple(access.impliedGrants) for access in (definition.accessTypes if definition else ())}
        roles = decode_roles(documents.roles)
        groups = frozenset(member.name for role in roles.rangerRoles for member in role.groups) - {PUBLIC}
        return cls(found, RoleTable(roles), {name: to for name, to in more.items() if to}, groups)

    def named(self, policy_id: int, version: int | None = None) -> str:
        """`policy 12 "kv readers" (version 3)`; empty for no policy."""
        if policy_id < 0:
            return ""
        policy = self.policies.get(policy_id)
        name = f' "{policy.name}"' if policy is not None and policy.name else ""
        return f"policy {policy_id}{name}" + (f" (version {version})" if version is not None and version >= 0 else "")

    def document(self, policy_id: int) -> dict[str, object] | None:
        """A policy for programs: its number and its name."""
        if policy_id < 0:
            return None
        policy = self.policies.get(policy_id)
        return {"id": policy_id, "name": policy.name if policy is not None else None}

    def items(
        self, policy_id: int, side: str, user: str, groups: Collection[str], actions: Collection[str]
    ) -> list[ItemFound]:
        """The items of one list that speak of the user, by name, group or role, and of one of the access types."""
        policy = self.policies.get(policy_id)
        if policy is None:
            return []
        items: list[PolicyItem] = getattr(policy, side)
        roles = self.roles.of(user, groups)
        return [
            ItemFound(policy_id, side, number, item)
            for number, item in enumerate(items, 1)
            if _speaks_of(item, user, groups, roles) and not implied(item.accesses, self.implied).isdisjoint(actions)
        ]


def readable_policies(download: ServicePolicies) -> Iterator[Policy]:
    """The policies of a download, of its zones and its tags; the engine reports the unreadable ones."""
    raws = [*(download.policies or ())]
    for zone in download.securityZones.values():
        raws += zone.policies
    raws += download.tagPolicies.policies if download.tagPolicies else ()
    for raw in raws:
        try:
            yield decode_policy(raw)
        except Unusable:
            continue


def items_of(policy: Policy) -> Iterable[PolicyItem]:
    """All items of a policy."""
    return (item for side in SIDES for item in getattr(policy, side))


def _speaks_of(item: PolicyItem, user: str, groups: Collection[str], roles: Collection[str]) -> bool:
    return (
        user in item.users
        or USER_MACRO in item.users
        or PUBLIC in item.groups
        or not set(groups).isdisjoint(item.groups)
        or not set(roles).isdisjoint(item.roles)
    )
