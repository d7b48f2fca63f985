"""`ranger-cdap policies plan|apply`: make Ranger's policies those of a directory under version control."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ranger_cdap.cli.administrator import administrator, confirm
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.files import read_collection, read_json
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.cli.transfer import account, grants_of, make, wanted_policies
from ranger_cdap.errors import ConflictingChange, InvalidInput
from ranger_cdap.policies.manage.change_plan import ChangePlan, change_plan
from ranger_cdap.policies.manage.policy_collection import PolicyCollection
from ranger_cdap.policies.manage.strict_text import write_json
from ranger_cdap.policies.manage.transfer import Json, Step, TransferAction, portable

_delete = click.option("--delete", is_flag=True, help="Delete the policies of Ranger that PATH does not have.")


@click.command(
    "plan",
    cls=Command,
    examples=("ranger-cdap policies plan policies", "ranger-cdap policies plan policies --delete --json"),
    exits={
        ExitCode.OK: "nothing to do: Ranger has the policies of PATH and no others",
        ExitCode.NO: "there are differences",
    },
)
@account
@_delete
@wanted_policies
@pass_invocation
@click.pass_context
def plan_command(context: click.Context, invocation: Invocation, ranger_user: str, delete: bool, path: Path) -> None:
    """Show what `policies apply` would change in Ranger, and what differs and stays.

    PATH is a directory of policies, an export or a download. Grants of the sync job are counted and never changed.
    """
    wanted = _wanted(invocation, path, delete=delete)
    with administrator(invocation, ranger_user) as admin:
        there = admin.policy_documents(invocation.settings.ranger.service)
    found = change_plan(wanted.policies, there, delete=delete, grants=grants_of(invocation.settings))
    _show(invocation, found)
    context.exit(ExitCode.NO if found.drift else ExitCode.OK)


@click.command(
    "apply",
    cls=Command,
    examples=(
        "ranger-cdap policies apply policies",
        "ranger-cdap policies apply policies --delete --plan plan.json --yes",
    ),
    exits={
        ExitCode.OK: "every change was made, or there was none to make",
        ExitCode.ERROR: "Ranger changed since the plan, or rejected a policy; earlier ones were applied",
    },
)
@account
@_delete
@click.option("--plan", "planned", type=FILE, metavar="FILE", help="Refuse if the plan is not that of `plan --json`.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@wanted_policies
@pass_invocation
def apply_command(
    invocation: Invocation, ranger_user: str, delete: bool, planned: Path | None, yes: bool, path: Path
) -> None:
    """Make the policies of Ranger those of PATH: create, update and rename, and with --delete remove all others.

    The plan is shown and confirmed first; nothing is done if Ranger changes meanwhile. Grants of the sync job are never
    changed. If a policy is rejected the command stops and names it; the next call goes on.
    """
    expected = None if planned is None else read_json(planned)
    wanted = _wanted(invocation, path, delete=delete)
    ranger, grants = invocation.settings.ranger, grants_of(invocation.settings)
    with administrator(invocation, ranger_user) as admin:

        def now() -> ChangePlan:
            return change_plan(wanted.policies, admin.policy_documents(ranger.service), delete=delete, grants=grants)

        found = now()
        if planned is not None and expected != found.documents():
            raise ConflictingChange(f"Ranger or `{path}` changed since the plan `{planned}` was made; nothing was done")
        _show(invocation, found)
        if found.blocked:
            raise InvalidInput(f"nothing was done, because Ranger would reject policy `{found.blocked[0].name}`")
        if not found.changes:
            return
        if not yes:
            confirm(_question(found, ranger.url))
            if now().documents() != found.documents():
                raise ConflictingChange(
                    f"the policies of service `{ranger.service}` changed meanwhile; nothing was done"
                )
        make(invocation, found.changes, admin)


def _wanted(invocation: Invocation, path: Path, *, delete: bool) -> PolicyCollection:
    """Return the policies to be.

    Raises:
        InvalidInput: they are those of another service, or all would be deleted.
    """
    wanted, service = read_collection(path), invocation.settings.ranger.service
    if wanted.service.service not in ("", service):
        raise InvalidInput(
            f"`{path}` has the policies of service `{wanted.service.service}`, and `ranger.service` is `{service}`"
        )
    if delete and not wanted.policies:
        raise InvalidInput(f"`{path}` has no policies, and `--delete` would delete all of service `{service}`")
    return wanted


def _question(found: ChangePlan, url: str) -> str:
    deleted = f", of which {len(found.deletions)} delete a policy" if found.deletions else ""
    return f"Make {len(found.changes)} changes{deleted}, in {url}?"


def _show(invocation: Invocation, found: ChangePlan) -> None:
    if invocation.as_json:
        invocation.print_json(found.documents())
        return
    for step in found.drift:
        invocation.console.print(str(step))
        for line in _difference(step):
            invocation.console.print(f"    {line}")
    if found.grants:
        invocation.console.print(f"grants of the sync job, which stay: {found.grants}")
    if not found.drift:
        invocation.console.print("nothing to do: Ranger has these policies and no others")


def _difference(step: Step) -> Iterator[str]:
    """Yield the changed lines of a policy that exists, as JSON, with three lines around them."""
    if step.change not in (TransferAction.UPDATE, TransferAction.RENAME):
        return
    before, after = (_lines(portable(step.there or {})), _lines(step.wanted or {}))
    yield from list(difflib.unified_diff(before, after, lineterm=""))[2:]


def _lines(policy: Json) -> Sequence[str]:
    return write_json(policy).decode().splitlines()
