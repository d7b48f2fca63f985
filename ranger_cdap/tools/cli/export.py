"""`ranger-cdap policies export`: the policies of the service as a file or a directory."""

from __future__ import annotations

from pathlib import Path

import click

from ranger_cdap.cdap.grant import is_creators_policy
from ranger_cdap.cli.administrator import administrator
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.files import write_file
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE, refuse_unused
from ranger_cdap.cli.policy_files import WHICH
from ranger_cdap.ranger.changes.transfer import policy_key
from ranger_cdap.ranger.files.policy_directory import FileFormat, write_directory
from ranger_cdap.ranger.files.strict_text import write_json
from ranger_cdap.ranger.refresh.cache import command_downloader
from ranger_cdap.tools.policies.service_export import read_service

account = click.option(
    "--ranger-user",
    metavar="USER",
    default="admin",
    show_default=True,
    help="An account that can read and edit the policies.",
)
wanted_policies = click.argument("files", type=WHICH, metavar="WHICH")


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
    """Write all policies of the service by name, without server-generated fields, and what is needed to evaluate them.

    A directory leaves out the sync job's grants, because the job manages them. The password is read from
    RANGER_CDAP_SETUP_PASSWORD or prompted for.
    """
    refuse_unused(
        (file_format or grants, directory, "`--format` and `--grants` need `--directory`"),
        (directory and out, False, "`--out` and `--directory` exclude each other"),
    )
    settings = invocation.settings
    by = command_downloader(settings)
    with administrator(invocation, ranger_user) as admin:
        collection, documents = read_service(admin, settings.ranger.service, by, ranger_user, invocation.messages.print)
    if directory is not None:
        left_out = set() if grants else {policy_key(one) for one in documents if is_creators_policy(one)}
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
