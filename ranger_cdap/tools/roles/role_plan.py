"""Roles with their members and rights, and the steps by which Ranger gets them or loses them again. Pure.

Laws: a role that was made by others is never changed, and nothing is done for one that meets an obstacle; members and
rights that others gave stay; a policy is deleted only if it was made for roles and nothing is left in it. A plan that
was carried out is followed by one without changes, wherever it was interrupted before.

Ranger takes one policy per resource, so rights of a role are added to the one that is there. A label of the policy
records them, `cdap-role:read+write:role:sales_developer`; the description of a role says what it was made for.
Of a role that follows its source the members are recorded as well (`role_members`), in each policy of its rights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from ranger_cdap.cdap.grant import is_creators_policy
from ranger_cdap.ranger.changes.role_members import NO_MEMBERS, RoleMembers, membership, relabelled
from ranger_cdap.ranger.changes.setup_rights import Holder, differences, held, in_order, reconcile, recorded
from ranger_cdap.ranger.changes.step import Json, Step, StepChange, policy_step
from ranger_cdap.ranger.client.ranger_roles import RoleRecord
from ranger_cdap.ranger_model.decode import decode_policy
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.download import SecurityZoneInfo
from ranger_cdap.ranger_model.policy import Policy, PolicyResource
from ranger_cdap.ranger_model.service_def import ServiceDef
from ranger_cdap.tools.analysis.policy_zones import PolicyZones
from servicedef import service_definition

ROLE_LABEL: Final = "cdap-role"
"""Label of the policies that were made for roles, and beginning of those that record the rights of a role."""


@dataclass(frozen=True, slots=True)
class RoleRights:
    """Rights of a role on a resource (level to value), of which `DELEGATION` is one; a new policy has that name."""

    policy_name: str
    resource: Mapping[str, str]
    accesses: frozenset[str]


@dataclass(frozen=True, slots=True)
class WantedRole:
    """A role by its name, with members it should have and exactly these rights; `made_for` is its description.

    A role of Ranger whose description begins with `made_for` is taken for the one made here; let it end in a full stop.
    With `follows`, members that a plan added leave the role once they are not wanted.
    """

    name: str
    made_for: str
    members: RoleMembers = NO_MEMBERS
    rights: tuple[RoleRights, ...] = ()
    follows: bool = False


@dataclass(frozen=True, slots=True)
class FoundRoles:
    """The roles of Ranger by name, as far as they are wanted, and all policies of the service as JSON; its zones."""

    roles: Mapping[str, RoleRecord]
    policies: Sequence[Json]
    zones: Mapping[str, SecurityZoneInfo] = field(default_factory=dict)


def plan(wanted: Iterable[WantedRole], found: FoundRoles, unwanted: Iterable[WantedRole] = ()) -> tuple[Step, ...]:
    """Return the steps by which Ranger has the wanted roles and not the unwanted ones, all of distinct names.

    Members leave first, as long as it is recorded that they were added. They come last: an interruption leaves no one
    with a part of a role, and a role that has members and no rights was made by others. They could have described it
    like ours: administrators of every service may create roles.
    """
    drafts, first, last = _drafts(found), list[Step](), list[Step]()
    zones = PolicyZones.of(found.zones, msgspec.convert(service_definition(), ServiceDef))
    leaving_roles = list[WantedRole]()
    for role in unwanted:
        there = found.roles.get(role.name)
        if there and not is_ours(there, role):
            last.append(Step(StepChange.BLOCKED, "role", role.name, _made_by_others(there, role)))
            continue
        drafts, _ = _with_rights(drafts, replace(role, rights=()), NO_MEMBERS, zones)
        leaving_roles.append(role)
    for role in wanted:
        there = found.roles.get(role.name)
        has = RoleMembers.of(there) if there else NO_MEMBERS
        labels = {label for one in drafts for label in one.after.policy_labels} if role.follows else ()
        who = membership(role.name, has, role.members, labels)
        after, obstacles = _with_rights(drafts, role, who.added if role.follows else NO_MEMBERS, zones)
        if there and not is_ours(there, role) and (who.missing or who.leaving or after != drafts):
            obstacles = [_made_by_others(there, role)]
        elif who.others and after != drafts and not any(one.records(role.name) for one in drafts):
            obstacles = [
                f"it has members ({who.others}) and none of its rights, so it was not made here; remove it first"
            ]
        if obstacles:
            last += [Step(StepChange.BLOCKED, "role", role.name, why) for why in obstacles]
            continue
        beside = f"; it also has {who.others}" if who.others else ""
        if who.leaving:
            why = f"remove {who.leaving}, added before and no longer wanted{'' if who.missing else beside}"
            first.append(Step(StepChange.UPDATE, "role", role.name, why, removes=who.leaving))
        if there is None:
            first.append(Step(StepChange.CREATE, "role", role.name, role.made_for))
        if who.missing:
            last.append(Step(StepChange.UPDATE, "role", role.name, f"add {who.missing}{beside}", adds=who.missing))
        elif there and after == drafts and not who.leaving:
            last.append(Step(StepChange.KEEP, "role", role.name, f"it has these members and rights{beside}"))
        drafts = after
    return (*first, *_in_safe_order(_policy_steps(drafts, zones)), *last, *_deletions(leaving_roles, drafts, found))


def removal(unwanted: Iterable[WantedRole], found: FoundRoles) -> tuple[Step, ...]:
    """Return the steps that take away the rights of these roles, and delete those that nothing else uses."""
    return plan((), found, unwanted)


def _deletions(unwanted: Iterable[WantedRole], drafts: Sequence[_Draft], found: FoundRoles) -> Iterator[Step]:
    for role in unwanted:
        there = found.roles.get(role.name)
        using = [one.after for one in drafts if any(role.name in item.roles for item in one.after.items())]
        if there and using:
            why = f"policy {using[0].id} `{using[0].name}` names it for other rights; the role and its members stay"
            yield Step(StepChange.KEEP, "role", role.name, why)
        elif there:
            members = RoleMembers.of(there)
            yield Step(StepChange.DELETE, "role", role.name, f"with {members}" if members else "it has no members")


def departure(role: WantedRole, found: FoundRoles) -> tuple[Step, ...]:
    """Return the steps that remove the members of `role` from it, and change nothing else."""
    there = found.roles.get(role.name)
    leaving = role.members & RoleMembers.of(there) if there else NO_MEMBERS
    if there and leaving and not is_ours(there, role):
        return (Step(StepChange.BLOCKED, "role", role.name, _made_by_others(there, role)),)
    return (Step(StepChange.UPDATE, "role", role.name, f"remove {leaving}", removes=leaving),) if leaving else ()


def is_there(role: WantedRole, found: FoundRoles) -> bool:
    """Return true if Ranger has a role of this name that was made here for the same purpose."""
    there = found.roles.get(role.name)
    return there is not None and is_ours(there, role)


def is_ours(there: RoleRecord, role: WantedRole) -> bool:
    """Return true if a role of Ranger was made here for the same purpose."""
    return there.description.startswith(role.made_for)


def roles_with_rights(policies: Iterable[Json]) -> tuple[str, ...]:
    """Return the names of the roles whose rights the labels of these policies record."""
    holders = (holder for one in _drafts(FoundRoles({}, list(policies))) for holder in one.holders())
    return tuple(dict.fromkeys(holder.name for holder in holders if holder.kind == "role"))


def _made_by_others(there: RoleRecord, role: WantedRole) -> str:
    described = f"described as `{there.description}`" if there.description else "without a description"
    return (
        f"it exists, {described}, and was not made for this (`{role.made_for}`); it stays as it is: choose another name"
    )


@dataclass(frozen=True, slots=True)
class _Draft:
    """A policy before (None: there is none) and after; the document is that of Ranger."""

    before: Policy | None
    after: Policy
    key: tuple[str, bytes]
    document: Json = field(default_factory=dict, compare=False)

    @property
    def is_void(self) -> bool:
        """True if the plan takes the last item out of a policy that was made for roles."""
        policy = self.after
        has_content = policy.items() or policy.data_mask_policy_items or policy.row_filter_policy_items
        return policy is not self.before and ROLE_LABEL in policy.policy_labels and not has_content

    def records(self, role: str) -> bool:
        """Return true if a label of the policy says that the role was given something."""
        labels = self.after.policy_labels
        return any(label.startswith(f"{ROLE_LABEL}:") and label.endswith(f":role:{role}") for label in labels)

    def holders(self) -> Iterable[Holder]:
        """Return who was given rights for roles in the policy, and still has them."""
        return recorded(self.after, by=ROLE_LABEL)

    def recording(self, role: str, added: RoleMembers, *, is_of_role: bool) -> _Draft:
        """Return the draft whose labels record these members of the role, if it is of the role or recorded them."""
        labels = relabelled(self.after.policy_labels, role, added, also_new=is_of_role)
        same = labels == self.after.policy_labels
        return self if same else replace(self, after=replaced(self.after, policy_labels=labels))

    def giving(self, role: str, accesses: frozenset[str], *, may_give: bool = True) -> _Draft:
        """Return the draft in which the role has exactly these accesses from here; itself if nothing changes."""
        policy, holder = self.after, Holder("role", role)
        if not accesses and not self.records(role):
            return self
        others = {one: theirs for one, theirs in recorded(policy, by=ROLE_LABEL).items() if one != holder}
        after = reconcile(policy, {**others, holder: accesses}, may_give=may_give, by=ROLE_LABEL)
        same = after.policy_items == policy.policy_items and set(after.policy_labels) == set(policy.policy_labels)
        return self if same else replace(self, after=after)


def _drafts(found: FoundRoles) -> list[_Draft]:
    policies = [(decode_policy(msgspec.json.encode(one)), one) for one in found.policies]
    return [_Draft(one, one, (one.zone_name, _key(one.resources)), document) for one, document in policies]


def _with_rights(
    drafts: Sequence[_Draft], role: WantedRole, added: RoleMembers, zones: PolicyZones
) -> tuple[list[_Draft], list[str]]:
    """Return the drafts in which a role has exactly the wanted rights from here, and what stands in the way.

    A right has a policy in each zone that decides on a part of its resource.

    `added` are recorded as members that were added, also where a right is taken away and the policy stays: each policy
    is changed by one step, and an interruption between two must not lose the record.
    """
    after, obstacles = list[_Draft](), list[str]()
    resources = [(_levels(one.resource), one) for one in role.rights]
    open_rights = {(zone, _key(levels)): one for levels, one in resources for zone in zones.of_resource(levels)}
    for draft in drafts:
        policy = draft.after
        one = open_rights.pop(draft.key, None) if _decides(policy) else None
        accesses = one.accesses if one else frozenset[str]()
        given = draft.giving(role.name, accesses, may_give=not policy.conditions)
        after.append(given.recording(role.name, added, is_of_role=bool(accesses)))
        if policy.conditions and accesses - held(after[-1].after).get(Holder("role", role.name), frozenset()):
            obstacles.append(
                f"policy {policy.id} `{policy.name}` of the same resource has conditions; add it there manually"
            )
    names = {(draft.after.name, draft.after.zone_name): draft.after for draft in drafts}
    for key, one in open_rights.items():
        if taken := names.get((one.policy_name, key[0])):
            why = "is not in effect for the resource it is wanted for; enable, rename or delete it"
            obstacles.append(f"policy {taken.id} `{taken.name}` {why}")
            continue
        new = Policy(
            name=one.policy_name,
            description="Made by ranger-cdap for roles; what it gives them is in its labels",
            resources=_levels(one.resource),
            policy_labels=[ROLE_LABEL],
            zone_name=key[0],
        )
        given = _Draft(None, new, key).giving(role.name, one.accesses)
        after.append(given.recording(role.name, added, is_of_role=True))
    return after, obstacles


def _decides(policy: Policy) -> bool:
    """Return true if Ranger refuses another policy on its resource, and it is always in effect."""
    never = policy.policy_type or policy.validity_schedules or policy.additional_resources
    return policy.is_enabled and not (never or policy.policy_priority or is_creators_policy(policy))


def _levels(resource: Mapping[str, str]) -> dict[str, PolicyResource]:
    return {level: PolicyResource(values=[value]) for level, value in resource.items()}


def _key(resources: Mapping[str, PolicyResource]) -> bytes:
    sets = {n: (sorted(one.values), one.is_excludes, one.is_recursive) for n, one in resources.items()}
    return msgspec.json.encode(sets, order="sorted")


def _in_safe_order(steps: Iterable[Step]) -> list[Step]:
    """Return the steps with deletions last: a record moves to another policy before its own is gone."""
    return sorted(steps, key=lambda step: [StepChange.CREATE, StepChange.UPDATE, StepChange.DELETE].index(step.change))


def _policy_steps(drafts: Iterable[_Draft], zones: PolicyZones) -> Iterator[Step]:
    for draft in drafts:
        before, after = draft.before, draft.after
        if after is before or (before is None and not after.policy_items):
            continue
        if draft.is_void:
            why = "nothing else is in it"
            yield Step(StepChange.DELETE, "policy", after.name, why, after.zone_name, there=draft.document)
        else:
            changed = _difference(before or replaced(after, policy_items=[]), after)
            yield policy_step(before, after, draft.document, changed + _borders(zones.of_resource(after.resources)))


def _borders(zones: Sequence[str]) -> str:
    """Return a clause on a resource that is only partly in security zones; empty if all of it is on one side."""
    names = ", ".join(f"`{name}`" for name in zones if name)
    return f"; part of the resource is in security zone {names}, with a policy of its own" if len(zones) > 1 else ""


def _difference(before: Policy, after: Policy) -> str:
    changes = list(differences(before, after, by=ROLE_LABEL))
    parts = [f"give {', '.join(in_order(more))} to {holder}" for holder, more, _ in changes if more]
    parts += [f"take {', '.join(in_order(less))} from {holder}" for holder, _, less in changes if less]
    return "; ".join(parts) or "only the record of what was given"
