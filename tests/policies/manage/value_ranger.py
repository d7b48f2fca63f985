"""A Ranger made of values: its roles and policies, and the steps of a plan for roles carried out on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ranger_cdap.policies.client.ranger_roles import RoleRecord
from ranger_cdap.policies.manage.role_plan import FoundRoles, RoleAction, RoleStep
from ranger_cdap.policies.manage.transfer import TransferAction
from ranger_cdap.ranger_model.role import RoleMember

Json = dict[str, Any]


@dataclass
class ValueRanger:
    """Roles and policies as Ranger keeps them: a step changes them, or fails where Ranger refuses it."""

    roles: dict[str, RoleRecord] = field(default_factory=dict)
    policies: list[Json] = field(default_factory=list)

    @property
    def found(self) -> FoundRoles:
        return FoundRoles(dict(self.roles), [dict(one) for one in self.policies])

    def carry_out(self, steps: Sequence[RoleStep], *, stop_after: int = 1000) -> None:
        for step in [one for one in steps if one.changes][:stop_after]:
            self._make(step)

    def _make(self, step: RoleStep) -> None:
        match step.action:
            case RoleAction.CREATE:
                assert step.role not in self.roles
                self.roles[step.role] = RoleRecord(name=step.role, description=step.detail)
            case RoleAction.GRANT | RoleAction.REVOKE:
                role = self.roles[step.role]
                for kind in ("users", "groups", "roles"):
                    named, kept = getattr(step.members, kind), getattr(role, kind)
                    rest = [one for one in kept if one.name not in named]
                    added = [RoleMember(name=one) for one in named] if step.action is RoleAction.GRANT else []
                    setattr(role, kind, [*rest, *added])
            case RoleAction.DELETE:
                assert not any(step.role in item.get("roles", []) for one in self.policies for item in items(one))
                del self.roles[step.role]
            case RoleAction.POLICY:
                assert step.policy is not None
                there, wanted = step.policy.there, step.policy.wanted
                if there is not None:
                    self.policies = [one for one in self.policies if one["id"] != there["id"]]
                if step.policy.change is not TransferAction.DELETE:
                    assert wanted is not None
                    number = there["id"] if there else 1 + max((one["id"] for one in self.policies), default=0)
                    new = {**wanted, "id": number}
                    assert not any(same_place(one, new) for one in self.policies if one.get("isEnabled", True))
                    self.policies.append(new)


def same_place(one: Json, other: Json) -> bool:
    return bool(one["resources"] == other["resources"])


def items(policy: Json) -> list[Json]:
    return [item for kind in ("policyItems", "denyPolicyItems") for item in policy.get(kind, [])]
