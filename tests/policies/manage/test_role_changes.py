"""Steps for roles, carried out in the embedded Ranger Admin while others change it; a test is also for a real one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from apache_ranger.client.ranger_client import RangerClient

from ranger_cdap.cdap.presets import load_preset
from ranger_cdap.config import Secret
from ranger_cdap.embedded_admin import EmbeddedAdmin
from ranger_cdap.errors import ConflictingChange, InvalidInput, RequestRejected
from ranger_cdap.policies.client.connection import AdminConnection
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.manage import service_setup
from ranger_cdap.policies.manage.job_roles import job_role
from ranger_cdap.policies.manage.role_changes import carry_out_roles, read_roles, require_members
from ranger_cdap.policies.manage.role_members import RoleMembers
from ranger_cdap.policies.manage.role_plan import RoleAction, RoleStep, WantedRole, plan, removal
from ranger_cdap.policies.manage.service_setup import DesiredState
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import PolicyItem, PolicyItemAccess

PASSWORD = Secret("Correct-horse-7")


@dataclass(frozen=True)
class Jobs:
    """A service of a Ranger Admin, its administrator, and names that no other test uses."""

    admin: RangerAdmin
    account: str
    service: str

    def wanted(self, preset: str = "viewer", members: RoleMembers = RoleMembers()) -> WantedRole:  # noqa: B008
        found = load_preset(preset, "default")
        name = f"{self.service}_{preset}"
        return job_role(found, "sales", service=self.service, instance="cdap", members=members, name=name)

    def plan(self, *wanted: WantedRole) -> tuple[RoleStep, ...]:
        return plan(wanted, read_roles(self.admin, self.service, [one.name for one in wanted]))

    def remove(self, *unwanted: WantedRole) -> tuple[RoleStep, ...]:
        return removal(unwanted, read_roles(self.admin, self.service, [one.name for one in unwanted]))

    def carry_out(self, steps: tuple[RoleStep, ...]) -> list[RoleStep]:
        return list(carry_out_roles(steps, self.admin, self.service, account=self.account))


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real_ranger)])
def jobs(request: pytest.FixtureRequest) -> Iterator[Jobs]:
    """A new service, without policies and roles, and the user `rcdap-alice`."""
    if request.param == "real":
        if "RANGER_URL" not in os.environ:
            pytest.skip("needs a real Ranger Admin: set RANGER_URL")
        user, password = os.environ.get("RANGER_USER", "admin"), Secret(os.environ["RANGER_PASSWORD"])
        yield from served(os.environ["RANGER_URL"], user, password)
        return
    with EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server:
        yield from served(server.url, "admin", PASSWORD)


def served(url: str, user: str, password: Secret) -> Iterator[Jobs]:
    service = f"rcdap{secrets.token_hex(4)}"
    connection = AdminConnection(url, username=user, password=password, allow_plain_http=True)
    with RangerAdmin(connection) as admin:
        if not admin.user_exists("rcdap-alice"):
            admin.create_user("rcdap-alice", PASSWORD)
        state = service_setup.read_state(admin, service)
        service_setup.carry_out(service_setup.plan(DesiredState(service, "cdap"), state), admin)
        yield Jobs(admin, user, service)
        for policy in admin.list_policies(service):
            admin.delete_policy(policy.id or 0)
        for name in admin.roles.names(service):
            if name.startswith(service):
                admin.roles.delete(service, name)
        RangerClient(url, (user, password.reveal())).delete_service(service)


def test_roles_are_made_shared_and_removed_without_a_trace(jobs: Jobs) -> None:
    viewer = jobs.wanted("viewer", RoleMembers(users=("rcdap-alice",)))
    developer = jobs.wanted("developer")
    before = len(jobs.admin.list_policies(jobs.service))
    jobs.carry_out(jobs.plan(viewer))
    jobs.carry_out(jobs.plan(developer))
    assert [step.action for step in jobs.plan(viewer, developer)] == [RoleAction.KEEP, RoleAction.KEEP]
    there = jobs.admin.roles.find(jobs.service, viewer.name)
    assert there is not None
    assert (there.description, [one.name for one in there.users]) == (viewer.made_for, ["rcdap-alice"])
    jobs.carry_out(jobs.remove(viewer))
    assert [step.action for step in jobs.plan(developer)] == [RoleAction.KEEP]
    jobs.carry_out(jobs.remove(developer))
    assert len(jobs.admin.list_policies(jobs.service)) == before
    assert not [name for name in jobs.admin.roles.names(jobs.service) if name.startswith(jobs.service)]


def test_a_role_created_since_the_plan_is_a_conflict_and_stays(jobs: Jobs) -> None:
    wanted = jobs.wanted()
    steps = jobs.plan(wanted)
    assert jobs.admin.roles.create(jobs.service, wanted.name, description="of others")
    with pytest.raises(ConflictingChange, match=rf"create role `{wanted.name}`: .* since the plan was made; 0 of"):
        jobs.carry_out(steps)
    assert jobs.admin.list_policies(jobs.service) == []


def test_a_policy_changed_since_the_plan_is_a_conflict_and_keeps_that_change(jobs: Jobs) -> None:
    jobs.carry_out(jobs.plan(jobs.wanted("viewer")))
    steps = jobs.plan(jobs.wanted("developer"))
    target = next(step.policy for step in steps if step.policy and step.policy.there)
    policy = jobs.admin.policy_by_name(jobs.service, target.name)
    assert policy is not None
    manual = PolicyItem(users=["rcdap-alice"], accesses=[PolicyItemAccess(type="read")])
    jobs.admin.update_policy(replaced(policy, policy_items=[*policy.policy_items, manual]))
    with pytest.raises(ConflictingChange, match="it was changed in Ranger since the plan was made"):
        jobs.carry_out(steps)
    jobs.carry_out(jobs.plan(jobs.wanted("developer")))
    after = jobs.admin.policy_by_name(jobs.service, target.name)
    assert after is not None
    assert ["rcdap-alice"] in [item.users for item in after.policy_items]


def test_a_role_that_another_role_has_is_not_deleted_and_ranger_s_reason_is_shown(jobs: Jobs) -> None:
    wanted = jobs.wanted()
    jobs.carry_out(jobs.plan(wanted))
    assert jobs.admin.roles.create(jobs.service, f"{jobs.service}_outer", roles=[wanted.name])
    with pytest.raises(RequestRejected, match="referenced in one or more other roles"):
        jobs.carry_out(jobs.remove(wanted))
    jobs.admin.roles.delete(jobs.service, f"{jobs.service}_outer")
    assert [step.action for step in jobs.carry_out(jobs.remove(wanted))] == [RoleAction.DELETE]


def test_unknown_members_are_named_together_before_anything_is_done(jobs: Jobs) -> None:
    members = RoleMembers(users=("rcdap-alice", "rcdap-ghost"), groups=("rcdap-none",))
    steps = jobs.plan(jobs.wanted("viewer", members))
    with pytest.raises(InvalidInput, match="no user `rcdap-ghost`, no group `rcdap-none`"):
        require_members(steps, jobs.admin)
