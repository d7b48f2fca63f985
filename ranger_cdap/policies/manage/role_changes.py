"""Roles in Ranger Admin: read for a plan, and the steps of a plan carried out.

Law: a step that fails names itself and what was done before, and the same plan made anew goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from ranger_cdap.errors import ConflictingChange, InvalidInput, RangerAdminError
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.manage.carry_out import make
from ranger_cdap.policies.manage.known_principals import require_known
from ranger_cdap.policies.manage.role_plan import FoundRoles, RoleAction, RoleStep, roles_with_rights


def read_roles(admin: RangerAdmin, service: str, names: Iterable[str], *, with_rights: bool = False) -> FoundRoles:
    """Read the roles of these names, and the policies of a service; `with_rights` the roles that were given any there.

    Raises:
        InvalidInput: Ranger Admin cannot look up one of the names.
        RangerAdminError: a request to Ranger Admin failed.
    """
    policies = admin.policy_documents(service)
    found = {name: admin.roles.find(service, name) for name in dict.fromkeys(names)}
    for name in roles_with_rights(policies) if with_rights else ():
        with suppress(InvalidInput):  # a name that was given to no role from here
            found[name] = found.get(name) or admin.roles.find(service, name)
    roles = {name: role for name, role in found.items() if role}
    return FoundRoles(roles, policies)


def require_members(steps: Iterable[RoleStep], admin: RangerAdmin) -> None:
    """Require that Ranger knows every user and group that a step adds to a role; changes nothing.

    Raises:
        InvalidInput: it names all that are missing.
        RangerAdminError: a request to Ranger Admin failed.
    """
    added = [step.members for step in steps if step.action is RoleAction.GRANT]
    users = (name for members in added for name in members.users)
    groups = (name for members in added for name in members.groups)
    require_known(admin, users, groups)


def carry_out_roles(steps: Sequence[RoleStep], admin: RangerAdmin, service: str, *, account: str) -> Iterator[RoleStep]:
    """Make the steps in order, as this account of Ranger, and yield each one that is made.

    Raises:
        ConflictingChange: a policy was changed, or a role was created, since the plan was made.
        RangerAdminError: Ranger Admin rejected a step, or did not answer. The message has the step and how many were
            made before.
    """
    changes = [step for step in steps if step.changes]
    for done, step in enumerate(changes):
        try:
            _make(step, admin, service, account)
        except RangerAdminError as e:
            e.args = (
                f"{step.what}: {e}; {done} of {len(changes)} changes were made before, and the same command goes on "
                "from there",
            )
            raise
        yield step


def _make(step: RoleStep, admin: RangerAdmin, service: str, account: str) -> None:
    members = step.members
    users, groups, roles = members.users, members.groups, members.roles
    match step.action:
        case RoleAction.CREATE:
            if not admin.roles.create(service, step.role, description=step.detail):
                raise ConflictingChange("a role of this name was created in Ranger since the plan was made")
        case RoleAction.GRANT:
            admin.roles.grant(service, step.role, grantor=account, users=users, groups=groups, roles=roles)
        case RoleAction.REVOKE:
            admin.roles.revoke(service, step.role, grantor=account, users=users, groups=groups, roles=roles)
        case RoleAction.DELETE:
            admin.roles.delete(service, step.role)
        case RoleAction.POLICY if step.policy is not None:
            make(step.policy, admin, service)
