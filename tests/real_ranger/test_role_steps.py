"""Steps of a plan for roles, carried out while others change Ranger."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ranger_cdap.cdap.presets import load_preset
from ranger_cdap.errors import ConflictingChange, InvalidInput, RequestRejected
from ranger_cdap.ranger.changes.carry_out import carry_out, require_receivers
from ranger_cdap.ranger.changes.role_members import RoleMembers
from ranger_cdap.ranger.changes.step import Step, StepChange
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import PolicyItem, PolicyItemAccess
from ranger_cdap.tools.roles.found_roles import read_roles
from ranger_cdap.tools.roles.job_roles import job_role
from ranger_cdap.tools.roles.role_plan import WantedRole, plan, removal
from tests.real_ranger.estate import Estate


@dataclass(frozen=True)
class Jobs:
    """A service of a Ranger Admin, its administrator, and names that no other test uses."""

    admin: RangerAdmin
    account: str
    service: str

    def name(self, what: str) -> str:
        return f"{self.service}_{what}"

    def wanted(self, preset: str = "viewer", members: RoleMembers = RoleMembers()) -> WantedRole:  # noqa: B008
        found = load_preset(preset, "default")
        name = self.name(preset)
        return job_role(found, "sales", service=self.service, instance="cdap", members=members, name=name)

    def plan(self, *wanted: WantedRole) -> tuple[Step, ...]:
        return plan(wanted, read_roles(self.admin, self.service, [one.name for one in wanted]))

    def remove(self, *unwanted: WantedRole) -> tuple[Step, ...]:
        return removal(unwanted, read_roles(self.admin, self.service, [one.name for one in unwanted]))

    def carry_out(self, steps: tuple[Step, ...]) -> list[Step]:
        return list(carry_out(steps, self.admin, self.service, self.account))


@pytest.fixture
def jobs(estate: Estate) -> Jobs:
    """A new service, without policies and roles, and the user alice."""
    estate.user("alice")
    service_setup.set_up(estate.admin, DesiredState(estate.service, "cdap"))
    return Jobs(estate.admin, estate.address.user, estate.service)


def test_roles_are_made_shared_and_removed_without_a_trace(jobs: Jobs) -> None:
    viewer = jobs.wanted("viewer", RoleMembers(users=(jobs.name("alice"),)))
    developer = jobs.wanted("developer")
    before = len(jobs.admin.list_policies(jobs.service))
    jobs.carry_out(jobs.plan(viewer))
    jobs.carry_out(jobs.plan(developer))
    assert [step.change for step in jobs.plan(viewer, developer)] == [StepChange.KEEP, StepChange.KEEP]
    there = jobs.admin.roles.find(jobs.service, viewer.name)
    assert there is not None
    assert (there.description, [one.name for one in there.users]) == (viewer.made_for, [jobs.name("alice")])
    jobs.carry_out(jobs.remove(viewer))
    assert [step.change for step in jobs.plan(developer)] == [StepChange.KEEP]
    jobs.carry_out(jobs.remove(developer))
    assert len(jobs.admin.list_policies(jobs.service)) == before
    assert not [name for name in jobs.admin.roles.names(jobs.service) if name.startswith(jobs.service)]


def test_a_role_created_since_the_plan_is_a_conflict_and_stays(jobs: Jobs) -> None:
    wanted = jobs.wanted()
    steps = jobs.plan(wanted)
    assert jobs.admin.roles.create(jobs.service, wanted.name, description="of others")
    with pytest.raises(ConflictingChange, match=rf"role `{wanted.name}` \(create\): .* since the plan was made; 0 of"):
        jobs.carry_out(steps)
    assert jobs.admin.list_policies(jobs.service) == []


def test_a_policy_changed_since_the_plan_is_a_conflict_and_keeps_that_change(jobs: Jobs) -> None:
    jobs.carry_out(jobs.plan(jobs.wanted("viewer")))
    steps = jobs.plan(jobs.wanted("developer"))
    target = next(step for step in steps if step.kind == "policy" and step.there)
    policy = jobs.admin.policy_by_name(jobs.service, target.name)
    assert policy is not None
    manual = PolicyItem(users=[jobs.name("alice")], accesses=[PolicyItemAccess(type="read")])
    jobs.admin.update_policy(replaced(policy, policy_items=[*policy.policy_items, manual]))
    with pytest.raises(ConflictingChange, match="it was changed in Ranger since the plan was made"):
        jobs.carry_out(steps)
    jobs.carry_out(jobs.plan(jobs.wanted("developer")))
    after = jobs.admin.policy_by_name(jobs.service, target.name)
    assert after is not None
    assert [jobs.name("alice")] in [item.users for item in after.policy_items]


def test_a_role_that_another_role_has_is_not_deleted_and_ranger_s_reason_is_shown(jobs: Jobs) -> None:
    wanted = jobs.wanted()
    jobs.carry_out(jobs.plan(wanted))
    assert jobs.admin.roles.create(jobs.service, jobs.name("outer"), roles=[wanted.name])
    with pytest.raises(RequestRejected, match="referenced in one or more other roles"):
        jobs.carry_out(jobs.remove(wanted))
    jobs.admin.roles.delete(jobs.service, jobs.name("outer"))
    assert [step.change for step in jobs.carry_out(jobs.remove(wanted))] == [StepChange.DELETE]


def test_unknown_members_are_named_together_before_anything_is_done(jobs: Jobs) -> None:
    members = RoleMembers(users=(jobs.name("alice"), jobs.name("ghost")), groups=(jobs.name("none"),))
    steps = jobs.plan(jobs.wanted("viewer", members))
    with pytest.raises(InvalidInput, match=f"no user `{jobs.name('ghost')}` and group `{jobs.name('none')}`"):
        require_receivers(steps, jobs.admin)
