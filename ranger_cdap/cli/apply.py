"""`ranger-cdap policies apply`: make Ranger's policies those of a file or of a directory under version control."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ranger_cdap.cli.administrator import administrator, confirm, count_changes
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.export import account, wanted_policies
from ranger_cdap.cli.files import read_collection, read_json
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.errors import ConflictingChange, InvalidInput
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.manage.carry_out import carry_out
from ranger_cdap.policies.manage.change_plan import ChangePlan, change_plan
from ranger_cdap.policies.manage.creator_grants import CreatorGrants
from ranger_cdap.policies.manage.policy_collection import PolicyCollection
from ranger_cdap.policies.manage.strict_text import write_json
from ranger_cdap.policies.manage.transfer import Json, Step, TransferAction, portable


@click.command(
    "apply",
    cls=Command,
    examples=(
        "ranger-cdap policies apply policies --delete --dry-run",
        "ranger-cdap policies apply policies --delete --plan plan.json --yes",
    ),
    exits={
        ExitCode.OK: "every change was made, or there was none to make",
        ExitCode.NO: "with --dry-run: there are differences",
        ExitCode.ERROR: "Ranger changed since the plan, or rejected a policy; earlier ones were applied",
    },
)
@account
@click.option("--delete", is_flag=True, help="Delete the policies of Ranger that PATH does not have.")
@click.option("--dry-run", is_flag=True, help="Show the plan and exit.")
@click.option(
    "--plan", "planned", type=FILE, metavar="FILE", help="Refuse if the plan is not this one, of `--dry-run --json`."
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@wanted_policies
@pass_invocation
@click.pass_context
def apply_command(
    context: click.Context,
    invocation: Invocation,
    ranger_user: str,
    delete: bool,
    dry_run: bool,
    planned: Path | None,
    yes: bool,
    path: Path,
) -> None:
    """Make the policies of Ranger those of PATH: create, update and rename, and with --delete remove all others.

    PATH is a directory of policies, an export or a download. The plan is shown and confirmed first; nothing is done if
    Ranger changes meanwhile. A policy is replaced as a whole. Grants of the sync job are counted and never changed. If
    a policy is rejected the command stops and names it; the next call goes on.
    """
    expected = None if planned is None else read_json(planned)
    wanted = _wanted(invocation, path, delete=delete)
    ranger, sync = invocation.settings.ranger, invocation.settings.sync
    grants = CreatorGrants(sync.extra_group, sync.delegate_admin)
    with administrator(invocation, ranger_user) as admin:

        def now() -> ChangePlan:
            return change_plan(wanted.policies, admin.policy_documents(ranger.service), delete=delete, grants=grants)

        found = now()
        if planned is not None and expected != found.documents():
            raise ConflictingChange(f"Ranger or `{path}` changed since the plan `{planned}` was made; nothing was done")
        invocation.show(found.documents(), _texts(found))
        if dry_run:
            context.exit(ExitCode.NO if found.drift else ExitCode.OK)
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


def make(invocation: Invocation, changes: Sequence[Step], admin: RangerAdmin) -> None:
    """Make changes in order.

    Raises:
        RangerAdminError: one failed; the message has its policy and the number of those before.
    """
    count_changes(invocation, carry_out(changes, admin, invocation.settings.ranger.service), len(changes))


def _wanted(invocation: Invocation, path: Path, *, delete: bool) -> PolicyCollection:
    """Return the policies to be.

    Raises:
        InvalidInput: those of another service would replace all, or all would be deleted.
    """
    wanted, service = read_collection(path, invocation.messages.print), invocation.settings.ranger.service
    if delete and wanted.service.service not in ("", service):
        raise InvalidInput(
            f"`{path}` has the policies of service `{wanted.service.service}`, and `--delete` would replace those of "
            f"`{service}`, which is `ranger.service`"
        )
    if delete and not wanted.policies:
        raise InvalidInput(f"`{path}` has no policies, and `--delete` would delete all of service `{service}`")
    return wanted


def _question(found: ChangePlan, url: str) -> str:
    deleted = f", of which {len(found.deletions)} delete a policy" if found.deletions else ""
    return f"Make {len(found.changes)} changes{deleted}, in {url}?"


def _texts(found: ChangePlan) -> Iterator[str]:
    for step in found.drift:
        yield str(step)
        yield from (f"    {line}" for line in _difference(step))
    if found.grants:
        yield f"grants of the sync job, which stay: {found.grants}"
    if found.left_out:
        yield f"grants of the sync job in the files, which are left out: {found.left_out}; the job writes its own"
    if not found.drift:
        yield "nothing to do: Ranger has these policies and no others"


def _difference(step: Step) -> Iterator[str]:
    """Yield the changed lines of a policy that exists, as JSON, with three lines around them."""
    if step.change not in (TransferAction.UPDATE, TransferAction.RENAME):
        return
    before, after = (_lines(portable(step.there or {})), _lines(step.wanted or {}))
    yield from list(difflib.unified_diff(before, after, lineterm=""))[2:]


def _lines(policy: Json) -> Sequence[str]:
    return write_json(policy).decode().splitlines()
