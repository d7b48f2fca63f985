"""Moves of people with this project's commands and Ranger's REST API for grants, by the functions behind them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.ranger.changes.carry_out import carry_out
from ranger_cdap.ranger.changes.step import Json, Step
from ranger_cdap.ranger.changes.transfer import portable
from ranger_cdap.ranger_model.policy import Policy
from ranger_cdap.testing.admin.model.documents import AdminPolicy, GrantRevoke
from ranger_cdap.testing.admin.rules.grant_rules import granted
from ranger_cdap.testing.admin.rules.policy_rules import signature
from ranger_cdap.tools.policies.change_plan import change_plan
from ranger_cdap.tools.policies.creator_grants import CreatorGrants
from ranger_cdap.tools.policies.needed_policies import needed_policies
from ranger_cdap.tools.roles.role_plan import FoundRoles, RoleRights, WantedRole, plan, removal
from ranger_cdap.tools.sentry.sentry_file import parse_sentry_file
from ranger_cdap.tools.sentry.sentry_roles import sentry_plan, sentry_roles
from tests.tools.policies.change_plans import blocked, changes

TOOL = "tool"


class Documents:
    """The policies of a `SharedRanger` as the commands read and write them."""

    def __init__(self, ranger: Any) -> None:
        self.ranger = ranger

    def all(self) -> list[Json]:
        return [msgspec.to_builtins(policy) for policy in self.ranger.policies.values()]

    def policy_by_id(self, policy_id: int) -> Policy | None:
        found: Policy | None = self.ranger.policies.get(policy_id)
        return found

    def create_policy_document(self, policy: Json) -> Json:
        made: Json = msgspec.to_builtins(self.ranger.create_policy(msgspec.convert(policy, Policy)))
        return made

    def update_policy_document(self, policy_id: int, policy: Json) -> Json:
        made: Json = msgspec.to_builtins(
            self.ranger.update_policy(msgspec.convert({**policy, "id": policy_id}, Policy))
        )
        return made

    def delete_policy(self, policy_id: int) -> None:
        self.ranger.delete_policy(policy_id)

    def make(self, steps: Iterable[Step]) -> bool:
        """Make the steps that change something; return whether there was one."""
        changes = [step for step in steps if step.kind == "policy" and step.changes]
        return bool(list(carry_out(changes, self, "cdap")))


Tool = Callable[[Documents, EntityId, random.Random], bool]


def grant_rest(there: Documents, entity: EntityId, rng: random.Random) -> bool:
    resource = to_resource(entity, "cdap") | ({"program": "*"} if entity.type == "application" else {})
    request = GrantRevoke(resource=resource, users=["bob"], access_types=["read"])
    levels = {level: {"values": [value]} for level, value in resource.items()}
    wanted = msgspec.convert(
        {"name": f"grant-{there.ranger.last}", "service": "cdap", "resources": levels}, AdminPolicy
    )
    for known in there.all():
        old = msgspec.convert(known, AdminPolicy)
        if old.is_enabled and signature(old) == signature(wanted):
            there.update_policy_document(known["id"], {**known, **_items(granted(old, request))})
            return True
    there.create_policy_document(msgspec.to_builtins(granted(wanted, request)))
    return True


def _items(policy: AdminPolicy) -> Json:
    return {"policyItems": msgspec.to_builtins(policy.policy_items)}


def _role(entity: EntityId) -> WantedRole:
    rights = RoleRights(f"roles: {entity}", to_resource(entity, "cdap"), frozenset({"read", "write"}))
    return WantedRole(f"reads_{entity.type}", "Made here.", rights=(rights,))


def roles_apply(there: Documents, entity: EntityId, rng: random.Random) -> bool:
    return there.make(plan([_role(entity)], FoundRoles({}, there.all())))


def roles_remove(there: Documents, entity: EntityId, rng: random.Random) -> bool:
    return there.make(removal([_role(entity)], FoundRoles({}, there.all())))


def apply_needed(there: Documents, entity: EntityId, rng: random.Random) -> bool:
    """Apply the policies that a plan of an operation, or the shadow report, writes to a file."""
    user = rng.choice(("bob", "eve"))
    needed = needed_policies([(user, access, entity) for access in ("read", "admin")], "cdap")
    files = [one.document() for one in needed]
    found = change_plan(files, there.all(), delete=False, grants=CreatorGrants(delegate_admin=False))
    return not blocked(found) and there.make(changes(found))


def import_sentry(there: Documents, entity: EntityId, rng: random.Random) -> bool:
    where = "->".join(f"{level}={value}" for level, value in to_resource(entity, "cdap").items())
    file = f"[groups]\ncrew = loaders\n[roles]\nloaders = {where}->action=READ\n".encode()
    found = sentry_roles(parse_sentry_file(file), service="cdap", instance="cdap")
    return there.make(sentry_plan(found, FoundRoles({}, there.all())))


def policies_apply(there: Documents, entity: EntityId, rng: random.Random) -> bool:
    """Apply files of all policies, the job's too, in which bob may read more."""
    bob = {"users": ["bob"], "accesses": [{"type": "read"}]}
    files = [
        {**portable(one), "policyItems": [*portable(one).get("policyItems", []), bob]}
        for one in there.all()
        if rng.random() < 0.7
    ]
    found = change_plan(files, there.all(), delete=rng.random() < 0.5, grants=CreatorGrants(delegate_admin=False))
    return not blocked(found) and there.make(changes(found))


# Taking a role away needs one that was given before.
TOOLS: tuple[Tool, ...] = (grant_rest, apply_needed, import_sentry, policies_apply, *(roles_apply, roles_remove) * 2)
