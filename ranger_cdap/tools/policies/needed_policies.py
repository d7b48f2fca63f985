"""Policies that give users the privileges of a plan. Pure.

Laws: they give nothing but the rights needed, each on exactly its entity; in known security zones they have effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.grant import ACCESS_TYPES, check_grantee
from ranger_cdap.cdap.pattern import STAR, EntityPattern
from ranger_cdap.engine.view import UNZONED
from ranger_cdap.keyed import grouped
from ranger_cdap.ranger.changes.step import Json
from ranger_cdap.ranger.changes.transfer import portable
from ranger_cdap.ranger_model.policy import PolicyResource
from ranger_cdap.tools.analysis.policy_zones import PolicyZones

PLAN_LABEL: Final = "cdap-plan"
"""Label of the policies that `ranger-cdap needs` makes. It proves nothing: any policy editor can set it."""

_EVERY_NAME: Final = "?*"  # a `*` alone also matches where the level is absent: a grant on the parent

Right = tuple[str, str, EntityId | EntityPattern]
"""User, access type, and the entity or pattern."""


@dataclass(frozen=True, slots=True)
class NeededPolicy:
    """Rights of users on one resource, as one policy."""

    name: str
    resources: Mapping[str, Mapping[str, list[str]]]
    rights: Mapping[str, frozenset[str]]
    zone: str

    def document(self) -> Json:
        """Return the policy, in the form of an export."""
        return portable(
            {
                "name": self.name,
                "description": "Made by ranger-cdap needs: privileges that operations need",
                "resources": self.resources,
                "additionalResources": [self.resources],  # listed twice: Ranger takes it beside another one on it
                "policyItems": _items(self.rights),
                "policyLabels": [PLAN_LABEL],
                "zoneName": self.zone,
            }
        )


def needed_policies(
    rights: Iterable[Right], instance: str, zones: PolicyZones | None = None
) -> tuple[NeededPolicy, ...]:
    """Return one policy for each resource in each of the zones that decide on a part of it; without any, outside zones.

    Raises:
        UnsafeGrant: a user name does not identify exactly one user, or there is no such access type.
    """
    by_entity: dict[EntityId | EntityPattern, dict[str, set[str]]] = {}
    for user, access, entity in rights:
        check_grantee(user, non_creators=())
        by_entity.setdefault(entity, {}).setdefault(user, set()).add(access)
    return tuple(
        NeededPolicy(
            f"operations on {entity} of {instance}",
            resources,
            {user: frozenset(accesses) for user, accesses in users.items()},
            zone,
        )
        for entity, users in by_entity.items()
        for resources in [_resources(entity, instance)]
        for zone in (zones.of_resource(msgspec.convert(resources, dict[str, PolicyResource])) if zones else (UNZONED,))
    )


def _resources(entity: EntityId | EntityPattern, instance: str) -> dict[str, dict[str, list[str]]]:
    levels = to_resource(EntityId(entity.type, entity.parts), instance)
    return {level: {"values": [_EVERY_NAME if value == STAR else value]} for level, value in levels.items()}


def _items(rights: Mapping[str, frozenset[str]]) -> list[Json]:
    """Return items that give these rights, with users of the same ones in one item."""
    users = grouped((accesses, user) for user, accesses in rights.items())
    return [
        {"users": names, "accesses": [{"type": access} for access in ACCESS_TYPES if access in accesses]}
        for accesses, names in users.items()
    ]
