"""`ranger-cdap policies export|diff|import`: the policies of the service as a file."""

from __future__ import annotations

from pathlib import Path

import click

from ranger_cdap.cli.administrator import administrator, confirm
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.files import read_file, write_file
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.manage.transfer import Step, TransferAction, body, from_file, plan, to_file

_account = click.option(
    "--ranger-user",
    metavar="USER",
    default="admin",
    show_default=True,
    help="An account that may see and edit the policies.",
)
_file = click.argument("file", type=FILE, metavar="FILE")


@click.command("export", cls=Command, answers=False, examples=("ranger-cdap policies export --out policies.json",))
@_account
@click.option("--out", type=FILE, metavar="FILE", help="Output file; default: standard output.")
@pass_invocation
def export_command(invocation: Invocation, ranger_user: str, out: Path | None) -> None:
    """Write all policies of the service as JSON, by name, without server-generated fields.

    The password is read from RANGER_CDAP_SETUP_PASSWORD or prompted for.
    """
    with administrator(invocation, ranger_user) as admin:
        content = to_file(admin.policy_documents(invocation.settings.ranger.service))
    if out is None:
        click.echo(content, nl=False)
    else:
        write_file(out, content)


@click.command(
    "diff",
    cls=Command,
    examples=("ranger-cdap policies diff policies.json",),
    exits={ExitCode.OK: "they do not differ", ExitCode.NO: "they differ"},
)
@_account
@_file
@pass_invocation
@click.pass_context
def diff_command(context: click.Context, invocation: Invocation, ranger_user: str, file: Path) -> None:
    """Show how the policies of the service differ from those of FILE."""
    steps = [step for step in _plan(invocation, ranger_user, file) if step.change is not TransferAction.KEEP]
    _print(invocation, steps)
    if not steps and not invocation.as_json:
        invocation.console.print("the policies do not differ from the file")
    context.exit(ExitCode.NO if steps else ExitCode.OK)


@click.command(
    "import",
    cls=Command,
    examples=(
        "ranger-cdap policies import --dry-run policies.json",
        "ranger-cdap policies import --yes policies.json",
    ),
    exits={ExitCode.ERROR: "Ranger Admin rejected a policy; earlier ones were applied"},
)
@_account
@click.option("--dry-run", is_flag=True, help="Show the plan and exit.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@_file
@pass_invocation
def import_command(invocation: Invocation, ranger_user: str, dry_run: bool, yes: bool, file: Path) -> None:
    """Create and update the policies of FILE; the other policies of the service are not changed.

    A policy is replaced as a whole.
    """
    steps = _plan(invocation, ranger_user, file)
    changes = [step for step in steps if step.change in (TransferAction.CREATE, TransferAction.UPDATE)]
    _print(invocation, [step for step in steps if step.change is not TransferAction.KEEP])
    if not changes and not invocation.as_json:
        invocation.console.print("nothing to do: the policies of the file exist unchanged")
    if dry_run or not changes:
        return
    ranger = invocation.settings.ranger
    if not yes:
        confirm(f"Make {len(changes)} changes in {ranger.url}?")
    with administrator(invocation, ranger_user) as admin:
        for step in changes:
            if step.there is None:
                admin.create_policy_document(body(step, ranger.service))
                continue
            after = admin.update_policy_document(step.there["id"], body(step, ranger.service))
            before = step.there.get("version")
            if isinstance(before, int) and after.get("version") != before + 1:
                invocation.messages.print(
                    f"warning: policy `{step.name}` was modified concurrently; "
                    f"its versions after {before} were overwritten"
                )


def _plan(invocation: Invocation, user: str, file: Path) -> tuple[Step, ...]:
    content = read_file(file)
    try:
        wanted = from_file(content)
    except InvalidInput as e:
        raise InvalidInput(f"`{file}` cannot be used: {e}") from None
    with administrator(invocation, user) as admin:
        return plan(wanted, admin.policy_documents(invocation.settings.ranger.service))


def _print(invocation: Invocation, steps: list[Step]) -> None:
    if invocation.as_json:
        invocation.print_json(
            [
                {"change": step.change.value, "policy": step.name, "zone": step.zone, "differs": step.differs}
                for step in steps
            ]
        )
        return
    for step in steps:
        invocation.console.print(str(step))
