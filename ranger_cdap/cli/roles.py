"""`ranger-cdap roles`: give people the job of a preset in a namespace, as a role of Ranger with its policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from ranger_cdap.cdap.presets import load_preset, preset_names
from ranger_cdap.cli.command import Command, CommandGroup
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.job_arguments import JobArguments, groups_of_role, name_of_role, users_of_role
from ranger_cdap.cli.role_steps import change_roles, step_as_json
from ranger_cdap.cli.roles_text import print_preset, print_presets
from ranger_cdap.policies.manage.job_roles import job_role
from ranger_cdap.policies.manage.role_plan import (
    FoundRoles,
    RoleStep,
    WantedRole,
    departure,
    plan,
    removal,
)

Planned = Callable[[WantedRole, FoundRoles], Sequence[RoleStep]]


def _names(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in preset_names() if name.startswith(incomplete)]


def _job(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments that stand for a job in a namespace and its members; the command gets them as `job`."""

    def call(invocation: Invocation, /, **typed: Any) -> Any:
        fields = ("preset", "namespace", "users", "groups", "name", "ranger_user")
        job = JobArguments(*(typed.pop(field) for field in fields))
        return command(invocation, job, **typed)

    call.__doc__ = command.__doc__
    with_options: Callable[..., Any] = pass_invocation(call)
    for option in (
        click.option(
            "--ranger-user",
            metavar="USER",
            default="admin",
            show_default=True,
            help="An account that may edit policies and roles.",
        ),
        name_of_role,
        users_of_role,
        groups_of_role,
        click.option("--namespace", required=True, metavar="NAMESPACE", help="The namespace in which the job is done."),
        click.argument("preset", shell_complete=_names),
    ):
        with_options = option(with_options)
    return with_options


_dry_run = click.option("--dry-run", is_flag=True, help="Show the plan and missing users and groups, and exit.")
_yes = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


@click.group(cls=CommandGroup, examples=("ranger-cdap roles explain",))
def roles() -> None:
    """Give people jobs in a namespace: presets of privileges, as roles of Ranger with their policies."""


@roles.command(
    "explain", examples=("ranger-cdap roles explain", "ranger-cdap roles explain developer --namespace sales")
)
@click.option("--namespace", metavar="NAMESPACE", default="NAMESPACE", help="The namespace in the policies.")
@click.argument("preset", shell_complete=_names, required=False)
@pass_invocation
def explain_role(invocation: Invocation, namespace: str, preset: str | None) -> None:
    """Show what a preset may do, by which policies, and what these allow besides; reads nothing from Ranger.

    Without PRESET: list all presets, and the roles of the predecessor's LDAP binding that each stands for.
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
    exits={
        ExitCode.OK: "every change was made, or there was none to make",
        ExitCode.NO: "with --dry-run: there are differences",
        ExitCode.ERROR: "Ranger changed since the plan, or rejected a step; earlier ones were made",
    },
)
@_dry_run
@_yes
@_job
def apply_role(invocation: Invocation, job: JobArguments, dry_run: bool, yes: bool) -> None:
    """Give users and groups the job of a preset in a namespace: a role of Ranger, and policies for it.

    Rights of the role are added to the policy of a resource where there is one, and nothing else in it is changed.
    Other members of the role stay. A role of that name that was not made for this is left alone. Idempotent.
    """
    _carry_out(invocation, job, _applied, dry_run=dry_run, yes=yes)


@roles.command(
    "remove",
    cls=Command,
    examples=(
        "ranger-cdap roles remove developer --namespace sales",
        "ranger-cdap roles remove developer --namespace sales --group sales-devs",
    ),
    exits={
        ExitCode.OK: "every change was made, or there was none to make",
        ExitCode.NO: "with --dry-run: there are differences",
        ExitCode.ERROR: "Ranger changed since the plan, or rejected a step; earlier ones were made",
    },
)
@_dry_run
@_yes
@_job
def remove_role(invocation: Invocation, job: JobArguments, dry_run: bool, yes: bool) -> None:
    """Take a job away: from the users and groups that are named, or from everyone, with the role and its rights.

    What others gave the role stays, and then the role as well. A policy is deleted only if it was made for roles and
    nothing is left in it.
    """
    _carry_out(invocation, job, _left if job.members else _removed, dry_run=dry_run, yes=yes)


def _applied(wanted: WantedRole, found: FoundRoles) -> Sequence[RoleStep]:
    return plan([wanted], found)


def _removed(wanted: WantedRole, found: FoundRoles) -> Sequence[RoleStep]:
    return removal([wanted], found)


def _left(wanted: WantedRole, found: FoundRoles) -> Sequence[RoleStep]:
    return departure(wanted, found)


def _carry_out(invocation: Invocation, job: JobArguments, planned: Planned, *, dry_run: bool, yes: bool) -> None:
    job.wanted(invocation)  # before the password is asked for
    change_roles(
        invocation,
        job.account,
        lambda admin: planned(*job.found(invocation, admin)),
        lambda steps, _: _show(invocation, steps),
        dry_run=dry_run,
        yes=yes,
    )


def _show(invocation: Invocation, steps: Sequence[RoleStep]) -> None:
    if invocation.as_json:
        invocation.print_json(list(map(step_as_json, steps)))
        return
    for step in steps:
        invocation.console.print(str(step))
    if not steps:
        invocation.console.print("nothing to do: Ranger has nothing of this role")
