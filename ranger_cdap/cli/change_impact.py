"""The access that changes of Ranger's policies and roles would bring or take, known before they are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from ranger_cdap.analysis.impact import impact
from ranger_cdap.analysis.report import ImpactRow, impact_rows
from ranger_cdap.cli.impact_sources import with_policies
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.config import Settings
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import InvalidInput, NotReady, PolicySetError, RangerAdminError
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.client.versions import NO_VERSION
from ranger_cdap.policies.manage.role_members import RoleMembers
from ranger_cdap.policies.manage.role_plan import RoleAction, RoleStep, members_after
from ranger_cdap.policies.manage.transfer import Step, TransferAction, body
from ranger_cdap.policies.refresh.cache import command_downloader
from ranger_cdap.policies.refresh.documents import needs_tags
from ranger_cdap.policies.refresh.fixed import documents
from ranger_cdap.questions.impact_question import compared_engine
from ranger_cdap.questions.impact_text import headline
from ranger_cdap.ranger_model.decode import decode_roles
from ranger_cdap.ranger_model.role import RangerRoles, Role, RoleMember

CHANGING: Final = (TransferAction.CREATE, TransferAction.UPDATE, TransferAction.DELETE)
"""Steps for a policy after which it is another one."""


@dataclass(frozen=True, slots=True)
class ChangeImpact:
    """Access that changes bring or take, as sentences, and the engine of the policies after them."""

    changes: tuple[str, ...]
    after: PolicyEngine


def change_impact(
    invocation: Invocation, admin: RangerAdmin, policies: Sequence[Step], roles: Sequence[RoleStep] = ()
) -> ChangeImpact | None:
    """Return what these changes would do; None, with a note, if the policies in effect cannot be loaded."""
    try:
        before, after = _engines(admin, invocation.settings, policies, roles)
        found = impact(before, after)
    except (RangerAdminError, NotReady, PolicySetError, InvalidInput) as e:
        invocation.messages.print(f"note: the impact is not known: {e}")
        return None
    members = _who_gains(policies, roles)
    return ChangeImpact(tuple(headline(_with_members(row, members)) for row in impact_rows(found)), after)


def _who_gains(policies: Sequence[Step], roles: Sequence[RoleStep]) -> dict[str, str]:
    """Return the members by role, as `role NAME`, to whom all that changes by the role is new."""
    granted = [step for step in roles if step.action is RoleAction.GRANT]
    created = {step.role for step in roles if step.action is RoleAction.CREATE}
    return {
        f"role {step.role}": f"{str(step.members).replace('`', '')} (role {step.role})"
        for step in granted
        if step.role in created or not policies
    }


def _with_members(row: ImpactRow, members: Mapping[str, str]) -> ImpactRow:
    return replace(row, who=tuple(members.get(name, name) for name in row.who))


def print_impact(invocation: Invocation, found: ChangeImpact | None) -> None:
    """Print a line for each change of access."""
    for text in found.changes if found is not None else ():
        invocation.console.print(f"impact: {text}")


def _engines(
    admin: RangerAdmin, settings: Settings, changes: Sequence[Step], role_steps: Sequence[RoleStep]
) -> tuple[PolicyEngine, PolicyEngine]:
    """Return the engines of Ranger's policies and roles as they are, and after the steps.

    Raises:
        NotReady: Ranger Admin has no policies of the service.
    """
    service = settings.ranger.service
    by = command_downloader(settings)
    policies = admin.download_policies(service, last_known_version=NO_VERSION, by=by)
    if policies is None:
        raise NotReady(f"Ranger Admin has no policies of service `{service}`")
    roles = admin.download_roles(service, last_known_version=NO_VERSION, by=by)
    tags = admin.download_tags(service, last_known_version=NO_VERSION, by=by) if needs_tags(policies) else None
    free = 1 + max((one.get("id") or 0 for one in admin.policy_documents(service)), default=0)
    deleted = {(step.there or {}).get("id") for step in changes if step.change is TransferAction.DELETE}
    written = [step for step in changes if step.change is not TransferAction.DELETE]
    bodies = [(step.name, {"id": number, **body(step, service)}) for number, step in enumerate(written, free)]
    changed = with_policies(policies, bodies, without=deleted)
    roles_after = _roles_after(admin, service, roles, role_steps) if role_steps else roles
    before = compared_engine(documents(policies, roles, tags), service)
    return before, compared_engine(documents(changed, roles_after, tags), service)


def _roles_after(admin: RangerAdmin, service: str, download: bytes | None, steps: Sequence[RoleStep]) -> bytes:
    """Return the download of roles after the steps: it lacks the roles that no policy of the service names yet."""
    found = decode_roles(download) if download else RangerRoles()
    named = {step.role for step in steps if step.role}
    known = {role.name: RoleMembers.of(role) for role in found.ranger_roles}
    before = dict.fromkeys(named, RoleMembers()) | _of_ranger(admin, service, named) | known
    after = {name: members_after(members, name, steps) for name, members in before.items()}
    inner = {name for members in after.values() for name in members.roles} - after.keys()
    while inner:
        after |= _of_ranger(admin, service, inner)
        inner = {name for name in inner if name in after for name in after[name].roles} - after.keys()
    rows = [
        Role(name=name, users=_rows(members.users), groups=_rows(members.groups), roles=_rows(members.roles))
        for name, members in after.items()
    ]
    return msgspec.json.encode(msgspec.structs.replace(found, ranger_roles=rows))


def _of_ranger(admin: RangerAdmin, service: str, names: Iterable[str]) -> dict[str, RoleMembers]:
    found = ((name, admin.roles.find(service, name)) for name in sorted(names))
    return {name: RoleMembers.of(role) for name, role in found if role is not None}


def _rows(names: Iterable[str]) -> list[RoleMember]:
    return [RoleMember(name=name) for name in names]
