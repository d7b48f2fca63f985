"""`ranger-cdap roles`: give people the job of a preset in a namespace, as a role of Ranger with its policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem

from ranger_cdap.cdap.presets import load_preset, preset_names
from ranger_cdap.cli.command import Command, CommandGroup
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import with_parameters
from ranger_cdap.cli.ranger_changes import CHANGE_EXITS, change_ranger, changing, show_steps
from ranger_cdap.config import Settings
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.changes.role_members import RoleMembers
from ranger_cdap.ranger.changes.step import Step
from ranger_cdap.tools.cli.roles_text import print_preset, print_presets
from ranger_cdap.tools.roles.found_roles import read_roles
from ranger_cdap.tools.roles.job_roles import job_role
from ranger_cdap.tools.roles.role_plan import (
    FoundRoles,
    WantedRole,
    departure,
    plan,
    removal,
)


@dataclass(frozen=True, slots=True)
class Job:
    """A preset in a namespace and the people who get it, as typed; an empty name stands for the usual one."""

    preset: str
    namespace: str
    users: tuple[str, ...]
    groups: tuple[str, ...]
    name: str
    ranger_user: str
    dry_run: bool
    yes: bool

    @property
    def members(self) -> RoleMembers:
        """The users and groups who get the job.

        Raises:
            InvalidInput: a name is empty.
        """
        if not all(map(str.strip, (*self.users, *self.groups))):
            raise InvalidInput("a name of --user or --group is empty; name a user or a group of Ranger")
        return RoleMembers(self.users, self.groups)

    def wanted(self, settings: Settings) -> WantedRole:
        """Return the role by the settings.

        Raises:
            InvalidInput: there is no such preset, or none in this profile, or the namespace or a name is none.
        """
        return job_role(
            load_preset(self.preset, settings.cdap.profile),
            self.namespace,
            service=settings.ranger.service,
            instance=settings.cdap.instance,
            members=self.members,
            name=self.name,
        )

    def change(self, invocation: Invocation, planned: Callable[[WantedRole, FoundRoles], Sequence[Step]]) -> None:
        """Show the steps from what Ranger has to what is planned, and carry them out if confirmed."""
        wanted, service = self.wanted(invocation.settings), invocation.settings.ranger.service
        change_ranger(
            invocation,
            self.ranger_user,
            lambda admin: planned(wanted, read_roles(admin, service, [wanted.name])),
            dry_run=self.dry_run,
            yes=self.yes,
            show=lambda steps: show_steps(invocation, steps),
        )


def _names(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in preset_names() if name.startswith(incomplete)]


def _job(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments that stand for a job in a namespace and its members; the command gets them as `job`."""

    def call(invocation: Invocation, /, **typed: Any) -> Any:
        return command(invocation, Job(**typed))

    call.__doc__ = command.__doc__
    return with_parameters(
        changing(pass_invocation(call)),
        click.option(
            "--name",
            metavar="NAME",
            default="",
            help="Name of the role; default: NAMESPACE_PRESET, like sales_developer.",
        ),
        click.option("--user", "users", multiple=True, metavar="USER", help="A user of Ranger. Repeatable."),
        click.option("--group", "groups", multiple=True, metavar="GROUP", help="A group of Ranger. Repeatable."),
        click.option("--namespace", required=True, metavar="NAMESPACE", help="The namespace of the job."),
        click.argument("preset", shell_complete=_names),
    )


@click.group(cls=CommandGroup, examples=("ranger-cdap roles explain",))
def roles() -> None:
    """Assign jobs in a namespace: presets of privileges, as Ranger roles with policies."""


@roles.command(
    "explain", examples=("ranger-cdap roles explain", "ranger-cdap roles explain developer --namespace sales")
)
@click.option("--namespace", metavar="NAMESPACE", default="NAMESPACE", help="The namespace in the policies.")
@click.argument("preset", shell_complete=_names, required=False)
@pass_invocation
def explain_role(invocation: Invocation, namespace: str, preset: str | None) -> None:
    """Show what a preset allows, its policies, and what else these allow. Ranger is not contacted.

    Without PRESET: list all presets, with the corresponding roles of the predecessor's LDAP binding.
    """
    if preset is None:
        print_presets(invocation)
        return
    settings = invocation.settings
    found = load_preset(preset, settings.cdap.profile)
    wanted = job_role(found, namespace, service=settings.ranger.service, instance=settings.cdap.instance)
    print_preset(invocation, found, wanted)


@roles.command(
    "apply",
    cls=Command,
    examples=(
        "ranger-cdap roles apply developer --namespace sales --group sales-devs",
        "ranger-cdap roles apply viewer --namespace sales --group audit --user ann --dry-run",
    ),
    exits=CHANGE_EXITS,
)
@_job
def apply_role(invocation: Invocation, job: Job) -> None:
    """Assign the job of a preset in a namespace to users and groups, by a Ranger role and its policies.

    If a resource already has a policy, the role's privileges are added to it and nothing else in it changes. Other
    members of the role are kept. A role of the same name that this command did not create is left alone. Idempotent.
    """
    job.change(invocation, lambda wanted, found: plan([wanted], found))


@roles.command(
    "remove",
    cls=Command,
    examples=(
        "ranger-cdap roles remove developer --namespace sales",
        "ranger-cdap roles remove developer --namespace sales --group sales-devs",
    ),
    exits=CHANGE_EXITS,
)
@_job
def remove_role(invocation: Invocation, job: Job) -> None:
    """Remove a job from the given users and groups, or without any, from everyone: with the role and its privileges.

    Privileges that others granted the role are kept, and then the role too. A policy is deleted only if it was created
    for roles and is empty.
    """
    job.change(invocation, departure if job.members else lambda wanted, found: removal([wanted], found))
