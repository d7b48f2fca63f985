"""`ranger-cdap policies export|diff|import`: the policies of the service as a file or a directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ranger_cdap.cli.administrator import administrator, confirm
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.files import read_collection, write_file
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.cli.policy_files import POLICIES
from ranger_cdap.cli.role_steps import counted
from ranger_cdap.config import Settings
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.manage.carry_out import carry_out
from ranger_cdap.policies.manage.change_plan import without_grants
from ranger_cdap.policies.manage.creator_grants import CreatorGrants
from ranger_cdap.policies.manage.policy_directory import FileFormat, write_directory
from ranger_cdap.policies.manage.service_export import read_service
from ranger_cdap.policies.manage.strict_text import write_json
from ranger_cdap.policies.manage.transfer import Step, TransferAction, plan, policy_key
from ranger_cdap.policies.refresh.cache import command_downloader

account = click.option(
    "--ranger-user",
    metavar="USER",
    default="admin",
    show_default=True,
    help="An account that may see and edit the policies.",
)
wanted_policies = click.argument("path", type=POLICIES, metavar="PATH")


def grants_of(settings: Settings) -> CreatorGrants:
    """Return how grants of the sync job look by these settings."""
    return CreatorGrants(settings.sync.extra_group, settings.sync.delegate_admin)


@click.command(
    "export",
    cls=Command,
    answers=False,
    examples=(
        "ranger-cdap policies export --out policies.json",
        "ranger-cdap policies export --directory policies --format yaml",
    ),
)
@account
@click.option("--out", type=FILE, metavar="FILE", help="Output file; default: standard output.")
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write a directory with a file per policy instead; policies that are no longer in Ranger are removed from it.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["json", "yaml"]),
    help="Format of the files in the directory; default: the format it has, else json.",
)
@click.option("--grants", is_flag=True, help="With --directory: also write the grants of the sync job.")
@pass_invocation
def export_command(
    invocation: Invocation,
    ranger_user: str,
    out: Path | None,
    directory: Path | None,
    file_format: FileFormat | None,
    grants: bool,
) -> None:
    """Write all policies of the service by name, without server-generated fields, with what deciding by them needs.

    A directory has no grants of the sync job, because the job manages them. The password is read from
    RANGER_CDAP_SETUP_PASSWORD or prompted for.
    """
    if directory is None and (file_format or grants):
        raise InvalidInput("`--format` and `--grants` need `--directory`")
    if directory is not None and out is not None:
        raise InvalidInput("`--out` and `--directory` exclude each other")
    settings = invocation.settings
    by = command_downloader(settings)
    with administrator(invocation, ranger_user) as admin:
        collection, documents = read_service(admin, settings.ranger.service, by)
    if directory is not None:
        terms = grants_of(settings)
        left_out = set() if grants else {policy_key(one) for one in documents if terms.includes(one)}
        kept = collection.without(left_out)
        write_directory(directory, kept, file_format)
        note = f"; grants of the sync job left out: {len(left_out)}" if left_out else ""
        invocation.messages.print(f"policies written to `{directory}`: {len(kept.policies)}{note}")
        return
    content = write_json(collection.document())
    if out is None:
        click.echo(content, nl=False)
    else:
        write_file(out, content)


@click.command(
    "diff",
    cls=Command,
    examples=("ranger-cdap policies diff policies.json", "ranger-cdap policies diff policies"),
    exits={ExitCode.OK: "they do not differ", ExitCode.NO: "they differ"},
)
@account
@wanted_policies
@pass_invocation
@click.pass_context
def diff_command(context: click.Context, invocation: Invocation, ranger_user: str, path: Path) -> None:
    """Show how the policies of the service differ from those of PATH, without the grants of the sync job.

    PATH is a directory of policies, an export or a download.
    """
    steps = [step for step in _plan(invocation, ranger_user, path) if step.change is not TransferAction.KEEP]
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
@account
@click.option("--dry-run", is_flag=True, help="Show the plan and exit.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@wanted_policies
@pass_invocation
def import_command(invocation: Invocation, ranger_user: str, dry_run: bool, yes: bool, path: Path) -> None:
    """Create and update the policies of PATH; the other policies of the service are not changed.

    PATH is a directory of policies, an export or a download. A policy is replaced as a whole; grants of the sync job
    are neither created nor changed. If a policy is rejected the command stops and names it; the next call goes on.
    """
    steps = _plan(invocation, ranger_user, path)
    changes = [step for step in steps if step.change in (TransferAction.CREATE, TransferAction.UPDATE)]
    _print(invocation, [step for step in steps if step.change is not TransferAction.KEEP])
    if not changes and not invocation.as_json:
        invocation.console.print("nothing to do: the policies of the file exist unchanged")
    if dry_run or not changes:
        return
    if not yes:
        confirm(f"Make {counted(len(changes), 'change')} in {invocation.settings.ranger.url}?")
    with administrator(invocation, ranger_user) as admin:
        make(invocation, changes, admin)


def make(invocation: Invocation, changes: Sequence[Step], admin: RangerAdmin) -> None:
    """Make changes in order.

    Raises:
        RangerAdminError: one failed; the message has its policy and the number of those before.
    """
    made = 0
    try:
        for _ in carry_out(changes, admin, invocation.settings.ranger.service):
            made += 1
    except KeyboardInterrupt:
        invocation.messages.print(f"{made} of {len(changes)} changes were made; the same command goes on from there")
        raise


def _plan(invocation: Invocation, user: str, path: Path) -> tuple[Step, ...]:
    wanted = read_collection(path).policies
    with administrator(invocation, user) as admin:
        there = admin.policy_documents(invocation.settings.ranger.service)
    grants = grants_of(invocation.settings)
    return plan(without_grants(wanted, grants), without_grants(there, grants))


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
