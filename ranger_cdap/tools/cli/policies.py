"""`ranger-cdap policies`: commands about the policies themselves."""

from __future__ import annotations

import click

from ranger_cdap.cli.command import CommandGroup
from ranger_cdap.tools.cli.apply import apply_command
from ranger_cdap.tools.cli.expectations import test_command
from ranger_cdap.tools.cli.export import export_command
from ranger_cdap.tools.cli.lint import lint_command
from ranger_cdap.tools.cli.policies_diff import diff_command
from ranger_cdap.tools.cli.refresh import refresh_command


@click.group(cls=CommandGroup, examples=("ranger-cdap policies lint",))
def policies() -> None:
    """Inspect the policies of the service, test them, keep them as files, and copy them to another Ranger Admin."""


for command in (
    lint_command,
    test_command,
    diff_command,
    refresh_command,
    export_command,
    apply_command,
):
    policies.add_command(command)
