"""Changes of roles in Ranger as a user makes them: shown, confirmed, planned again, and carried out step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from ranger_cdap.cli.administrator import administrator, confirm, count_changes
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.errors import ConflictingChange, InvalidInput
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.manage.role_changes import carry_out_roles, require_members
from ranger_cdap.policies.manage.role_plan import RoleAction, RoleStep
from ranger_cdap.policies.manage.saved_policy import SavedPolicies
from servicedef import service_definition


def change_roles(
    invocation: Invocation,
    account: str,
    planned: Callable[[RangerAdmin], Sequence[RoleStep]],
    show: Callable[[Sequence[RoleStep]], None],
    *,
    dry_run: bool,
    yes: bool,
) -> None:
    """Show the planned steps and carry out those that change something, once they are confirmed and planned again.

    Raises:
        InvalidInput: a role is blocked, or a member is missing; nothing was done.
        ConflictingChange: the plan has changed since it was shown; nothing was done.
        RangerAdminError: Ranger rejected a step; earlier ones were made.
    """
    with administrator(invocation, account) as admin:
        steps = planned(admin)
        show(steps)
        saved = SavedPolicies()
        saved.of([step.policy.wanted for step in steps if step.policy is not None], service_definition())
        for change in saved.changes:
            invocation.messages.print(f"note: {change}")
        if blocked := [step for step in steps if step.action is RoleAction.BLOCKED]:
            raise InvalidInput(f"nothing was done: role `{blocked[0].role}` is blocked: {blocked[0].detail}")
        changes = [step for step in steps if step.changes]
        require_members(changes, admin)
        if dry_run:
            click.get_current_context().exit(ExitCode.NO if changes else ExitCode.OK)
        if not changes:
            return
        if not yes:
            confirm(f"Make {counted(len(changes), 'change')} in {invocation.settings.ranger.url}?")
            if planned(admin) != steps:
                raise ConflictingChange("the plan has changed since it was shown, and nothing was done")
        done = carry_out_roles(changes, admin, invocation.settings.ranger.service, account=account)
        count_changes(invocation, done, len(changes))
        invocation.messages.print(f"{counted(len(changes), 'change')} made; plugins follow with their next refresh")


def step_as_json(step: RoleStep) -> dict[str, object]:
    """Return a step as the commands print it with `--json`."""
    return {"change": step.what, "detail": step.detail, "changes": step.changes}


def counted(count: int, noun: str) -> str:
    """Return the number with its noun: `1 change`, `2 changes`."""
    return f"{count} {noun}{'s' * (count != 1)}"
