"""Policies that give users the privileges of a plan, and the steps that bring them into Ranger's policies. Pure.

Laws: nothing but the rights needed is added, each on exactly its entity; nothing of what is in Ranger is removed or
changed; carried out, the steps of the same rights are all `keep`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.grant import ACCESS_TYPES, check_grantee, is_creators_policy
from ranger_cdap.cdap.pattern import STAR, EntityPattern
from ranger_cdap.policies.manage.setup_rights import Holder, held, in_order
from ranger_cdap.policies.manage.transfer import Json, Step, TransferAction, policy_key, portable
from ranger_cdap.ranger_model.policy import Policy

PLAN_LABEL: Final = "cdap-plan"
"""Label of the policies that `ranger-cdap plan` makes. It proves nothing: any policy editor can set it."""

_EVERY_NAME: Final = "?*"  # a `*` alone also matches where the level is absent: a grant on the parent

Right = tuple[str, str, EntityId | EntityPattern]
"""User, access type, and the entity or pattern."""


@dataclass(frozen=True, slots=True)
class NeededPolicy:
    """Rights of users on one resource, as one policy."""

    name: str
    resources: Mapping[str, Mapping[str, list[str]]]
    rights: Mapping[str, frozenset[str]]

    def document(self) -> Json:
        """Return the policy, in the form of an export."""
        return portable(
            {
                "name": self.name,
                "description": "Made by ranger-cdap plan: privileges that operations need",
                "resources": self.resources,
                "policyItems": _with_rights([], self.rights),
                "policyLabels": [PLAN_LABEL],
            }
        )


@dataclass(frozen=True, slots=True)
class NeededStep:
    """Step for one policy, and the rights that it adds."""

    step: Step
    adds: Mapping[str, frozenset[str]]

    def __str__(self) -> str:
        if self.step.change not in (TransferAction.CREATE, TransferAction.UPDATE):
            return str(self.step)
        given = "; ".join(f"{', '.join(in_order(accesses))} for {user}" for user, accesses in self.adds.items())
        return f"{self.step.change.value} policy `{self.step.name}`: {given}"

    def as_json(self) -> Json:
        """Return the step as JSON."""
        there = self.step.there or {}
        return {
            "change": self.step.change.value,
            "policy": self.step.name,
            "id": there.get("id"),
            "version": there.get("version"),
            "adds": {user: in_order(accesses) for user, accesses in self.adds.items()},
            "reason": self.step.reason,
        }


def needed_policies(rights: Iterable[Right], instance: str) -> tuple[NeededPolicy, ...]:
    """Return one policy for each resource.

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
            _resources(entity, instance),
            {user: frozenset(accesses) for user, accesses in users.items()},
        )
        for entity, users in by_entity.items()
    )


def needed_steps(needed: Sequence[NeededPolicy], there: Sequence[Json]) -> tuple[NeededStep, ...]:
    """Return a step for each policy: Ranger takes one policy for a resource, so the rights go to the one it has.

    The sync job's for a creator is none of these: Ranger takes another one beside it.
    """
    names = {policy_key(policy): policy for policy in there}
    return tuple(_step(one, there, names.get(("", one.name))) for one in needed)


def _step(needed: NeededPolicy, there: Sequence[Json], namesake: Json | None) -> NeededStep:
    on_it = [policy for policy in there if _is_on(policy, needed.resources) and not is_creators_policy(policy)]
    usable = next((policy for policy in on_it if not _obstacle(policy, needed.rights)), None)
    if usable is not None:
        return _added(needed, usable)
    for policy in on_it:
        why = f"policy {policy.get('id')} is on {_place(needed)} and {_obstacle(policy, needed.rights)}"
        return _blocked(needed, policy, f"{why}; add the rights there in Ranger Admin, or change the policy")
    if namesake is not None:
        return _blocked(needed, namesake, f"policy {namesake.get('id')} has this name and is on another resource")
    step = Step(TransferAction.CREATE, needed.name, "", wanted=needed.document())
    return NeededStep(step, needed.rights)


def _added(needed: NeededPolicy, policy: Json) -> NeededStep:
    have = held(msgspec.convert(portable(policy), Policy))
    adds = {
        user: rest
        for user, accesses in needed.rights.items()
        if (rest := accesses - have.get(Holder("user", user), frozenset()))
    }
    kept = portable(policy)
    wanted = {**kept, "policyItems": _with_rights(kept.get("policyItems", []), adds)} if adds else kept
    change = TransferAction.UPDATE if adds else TransferAction.KEEP
    differs = ("policyItems",) if adds else ()
    return NeededStep(Step(change, str(policy.get("name")), "", differs, wanted, policy), adds)


def _blocked(needed: NeededPolicy, policy: Json, reason: str) -> NeededStep:
    return NeededStep(Step(TransferAction.BLOCKED, needed.name, "", there=policy, reason=reason), needed.rights)


def _place(needed: NeededPolicy) -> str:
    return ", ".join(f"{level}={values['values'][0]}" for level, values in needed.resources.items())


def _resources(entity: EntityId | EntityPattern, instance: str) -> dict[str, dict[str, list[str]]]:
    levels = to_resource(EntityId(entity.type, entity.parts), instance)
    return {level: {"values": [_EVERY_NAME if value == STAR else value]} for level, value in levels.items()}


def _is_on(policy: Json, resources: Mapping[str, Any]) -> bool:
    """Return true if an access policy is on these resources, outside of security zones."""
    if policy.get("policyType") or policy_key(policy)[0]:
        return False
    sets = [policy.get("resources"), *(policy.get("additionalResources") or ())]
    return any(portable({"resources": one}).get("resources") == resources for one in sets if one)


def _obstacle(policy: Json, rights: Mapping[str, frozenset[str]]) -> str:
    """Return why rights are not added to a policy, in a few words; empty if they can be."""
    denied = [item for name in ("denyPolicyItems", "allowExceptions") for item in policy.get(name) or ()]
    named = {name for item in denied for name in item.get("users") or ()} & rights.keys()
    signs = {
        "is disabled": not policy.get("isEnabled", True),
        "has conditions": policy.get("conditions"),
        "has a validity period": policy.get("validitySchedules"),
        "has further resources": policy.get("additionalResources"),
        "overrides other policies": policy.get("policyPriority"),
        "denies all else": policy.get("isDenyAllElse"),
        f"denies or excepts {', '.join(sorted(named))}": named,
    }
    return next((words for words, holds in signs.items() if holds), "")


def _with_rights(items: Sequence[Json], rights: Mapping[str, frozenset[str]]) -> list[Json]:
    """Return the items with these rights, users with the same ones in one item of nothing else."""
    found = list(items)
    for user, accesses in rights.items():
        given = [{"type": access} for access in ACCESS_TYPES if access in accesses]
        place = next((n for n, one in enumerate(found) if _gives_users(one, given)), None)
        if place is None:
            found.append({"users": [user], "accesses": given})
        else:
            found[place] = {**found[place], "users": [*found[place]["users"], user]}
    return found


def _gives_users(item: Json, accesses: Sequence[Json]) -> bool:
    return item.keys() == {"users", "accesses"} and item["accesses"] == list(accesses)
