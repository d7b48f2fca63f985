"""Changes of Ranger Admin as a user makes them: planned, shown, confirmed, planned again, and carried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import click

from ranger_cdap.cli.administrator import administrator, confirm
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.parameters import with_parameters
from ranger_cdap.errors import ConflictingChange, InvalidInput
from ranger_cdap.ranger.changes.carry_out import carry_out, require_receivers
from ranger_cdap.ranger.changes.refusals import require_savable
from ranger_cdap.ranger.changes.saved_policy import SavedPolicies
from ranger_cdap.ranger.changes.step import Json, Step, StepChange
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from servicedef import service_definition

Plan = Callable[[RangerAdmin], Sequence[Step]]
CHANGE_EXITS: Final = {
    ExitCode.OK: "every change was made, or there was none to make",
    ExitCode.NO: "with --dry-run: there are differences",
    ExitCode.ERROR: "Ranger changed since the plan, or rejected a step; earlier ones were made",
}


def changing(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that changes Ranger: `ranger_user`, `dry_run` and `yes`."""
    account = "An account that can read and edit what is changed; its password is never stored."
    return with_parameters(
        command,
        click.option("--ranger-user", metavar="USER", default="admin", show_default=True, help=account),
        click.option("--dry-run", is_flag=True, help="Show the plan and missing users and groups, and exit."),
        click.option("--yes", is_flag=True, help="Do not ask for confirmation."),
    )


def change_ranger(
    invocation: Invocation,
    account: str,
    planned: Plan,
    *,
    dry_run: bool,
    yes: bool,
    show: Callable[[Sequence[Step]], None],
    despite_blocked: bool = False,
) -> None:
    """Show the planned steps and carry out those that change something, once they are confirmed and planned again.

    With `despite_blocked` the others are carried out where one is blocked.

    Raises:
        InvalidInput: a step is blocked, or Ranger lacks a user or group; nothing was done.
        ConflictingChange: the plan has changed since it was shown; nothing was done.
        RangerAdminError: Ranger rejected a step; earlier ones were made.
    """
    with administrator(invocation, account) as admin:
        steps = planned(admin)
        show(steps)
        changes = [step for step in steps if step.changes]
        require_savable(changes, datetime.now(UTC).replace(tzinfo=None))
        require_receivers(changes, admin)
        blocked = [step for step in steps if step.change is StepChange.BLOCKED]
        if blocked and not despite_blocked:
            raise InvalidInput(f"nothing was done: {blocked[0].subject} is blocked: {blocked[0].detail}")
        if dry_run:
            click.get_current_context().exit(ExitCode.NO if any(step.differs for step in steps) else ExitCode.OK)
        if not changes:
            return
        if not yes:
            deleted = sum(step.change is StepChange.DELETE for step in changes)
            of_which = f", of which {counted(deleted, 'deletion')}," if deleted else ""
            confirm(f"Make {counted(len(changes), 'change')}{of_which} in {invocation.settings.ranger.url}?")
            if documents(planned(admin)) != documents(steps):
                raise ConflictingChange("the plan has changed since it was shown, and nothing was done")
        _make(invocation, changes, admin, account)
        invocation.messages.print(f"{counted(len(changes), 'change')} made; plugins follow with their next refresh")


def documents(steps: Sequence[Step]) -> list[Json]:
    """Return the steps as JSON."""
    return [step.document() for step in steps]


def counted(count: int, noun: str) -> str:
    """Return the number with its noun: `1 change`, `2 changes`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def show_steps(invocation: Invocation, steps: Sequence[Step]) -> None:
    """Show steps that were made here, and what Ranger Admin changes of their policies when it saves them."""
    invocation.show(documents(steps), steps or ("nothing to do",))
    note_saved(invocation, steps)


def note_saved(invocation: Invocation, steps: Sequence[Step]) -> None:
    """Note what Ranger Admin changes of policies when it saves them."""
    saved = SavedPolicies()
    wanted = [step.wanted for step in steps if step.kind == "policy" and step.changes and step.wanted]
    saved.of(wanted, service_definition())
    for change in saved.changes:
        invocation.messages.print(f"note: {change}")


def _make(invocation: Invocation, changes: Sequence[Step], admin: RangerAdmin, account: str) -> None:
    made = 0
    try:
        for _ in carry_out(changes, admin, invocation.settings.ranger.service, account):
            made += 1
    except KeyboardInterrupt:
        invocation.messages.print(f"{made} of {len(changes)} changes were made; the same command goes on from there")
        raise
