"""A job in a namespace and the people who get it, as typed."""

from __future__ import annotations

from dataclasses import dataclass

import click

from ranger_cdap.cdap.presets import load_preset
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.manage.job_roles import job_role
from ranger_cdap.policies.manage.role_changes import read_roles
from ranger_cdap.policies.manage.role_members import RoleMembers
from ranger_cdap.policies.manage.role_plan import FoundRoles, WantedRole

name_of_role = click.option(
    "--name", metavar="NAME", default="", help="Name of the role; default: NAMESPACE_PRESET, like sales_developer."
)
users_of_role = click.option("--user", "users", multiple=True, metavar="USER", help="A user of Ranger. Repeatable.")
groups_of_role = click.option(
    "--group", "groups", multiple=True, metavar="GROUP", help="A group of Ranger. Repeatable."
)


@dataclass(frozen=True, slots=True)
class JobArguments:
    """The preset, the namespace and the members, and Ranger's account; an empty name stands for the usual one."""

    preset: str
    namespace: str
    users: tuple[str, ...]
    groups: tuple[str, ...]
    name: str
    account: str

    @property
    def members(self) -> RoleMembers:
        """Return the users and groups who get the job.

        Raises:
            InvalidInput: a name is empty.
        """
        if not all(map(str.strip, (*self.users, *self.groups))):
            raise InvalidInput("a name of --user or --group is empty; name a user or a group of Ranger")
        return RoleMembers(self.users, self.groups)

    def wanted(self, invocation: Invocation) -> WantedRole:
        """Return the role by the settings.

        Raises:
            InvalidInput: there is no such preset, or none in this profile, or the namespace or a name is none.
        """
        settings = invocation.settings
        return job_role(
            load_preset(self.preset, settings.cdap.profile),
            self.namespace,
            service=settings.ranger.service,
            instance=settings.cdap.instance,
            members=self.members,
            name=self.name,
        )

    def found(self, invocation: Invocation, admin: RangerAdmin) -> tuple[WantedRole, FoundRoles]:
        """Return the role that is wanted, and what Ranger has.

        Raises:
            RangerAdminError: a request to Ranger Admin failed.
        """
        wanted = self.wanted(invocation)
        return wanted, read_roles(admin, invocation.settings.ranger.service, [wanted.name])
