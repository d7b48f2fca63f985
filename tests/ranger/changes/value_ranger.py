"""A Ranger made of values: its roles and policies, and the steps of a plan for roles carried out on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ranger_cdap.ranger.changes.step import Step, StepChange
from ranger_cdap.ranger.client.ranger_roles import RoleRecord
from ranger_cdap.ranger_model.download import SecurityZoneInfo
from ranger_cdap.ranger_model.role import RoleMember
from ranger_cdap.tools.roles.role_plan import FoundRoles

Json = dict[str, Any]


@dataclass
class ValueRanger:
    """Roles and policies as Ranger keeps them: a step changes them, or fails where Ranger refuses it."""

    roles: dict[str, RoleRecord] = field(default_factory=dict)
    policies: list[Json] = field(default_factory=list)
    zones: dict[str, SecurityZoneInfo] = field(default_factory=dict)

    @property
    def found(self) -> FoundRoles:
        return FoundRoles(dict(self.roles), [dict(one) for one in self.policies], self.zones)

    def carry_out(self, steps: Sequence[Step], *, stop_after: int = 1000) -> None:
        for step in [one for one in steps if one.changes][:stop_after]:
            self._make(step)

    def _make(self, step: Step) -> None:
        match step.kind, step.change:
            case "role", StepChange.CREATE:
                assert step.name not in self.roles
                self.roles[step.name] = RoleRecord(name=step.name, description=step.detail)
            case "role", StepChange.UPDATE:
                role = self.roles[step.name]
                for kind in ("users", "groups", "roles"):
                    added, removed, there = getattr(step.adds, kind), getattr(step.removes, kind), getattr(role, kind)
                    rest = [one for one in there if one.name not in (*added, *removed)]
                    setattr(role, kind, [*rest, *(RoleMember(name=one) for one in added)])
            case "role", _:
                assert not any(step.name in item.get("roles", []) for one in self.policies for item in items(one))
                del self.roles[step.name]
            case "policy", change:
                there, wanted = step.there, step.wanted
                if there is not None:
                    self.policies = [one for one in self.policies if one["id"] != there["id"]]
                if change is not StepChange.DELETE:
                    assert wanted is not None
                    number = there["id"] if there else 1 + max((one["id"] for one in self.policies), default=0)
                    new = {**wanted, "id": number}
                    assert not any(same_place(one, new) for one in self.policies if one.get("isEnabled", True))
                    self.policies.append(new)


def same_place(one: Json, other: Json) -> bool:
    return bool(one["resources"] == other["resources"] and one.get("zoneName", "") == other.get("zoneName", ""))


def items(policy: Json) -> list[Json]:
    return [item for kind in ("policyItems", "denyPolicyItems") for item in policy.get(kind, [])]
