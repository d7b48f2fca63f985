"""`ranger-cdap policies`: commands about the policies themselves."""

from __future__ import annotations

import click

from ranger_cdap.cli.command import Group
from ranger_cdap.cli.expectations import test_command
from ranger_cdap.cli.lint import lint_command
from ranger_cdap.cli.refresh import refresh_command
from ranger_cdap.cli.transfer import diff_command, export_command, import_command


@click.group(cls=Group, examples=("ranger-cdap policies lint",))
def policies() -> None:
    """Look at the policies of the service, and carry them from one Ranger Admin to another."""


for command in (lint_command, test_command, refresh_command, export_command, diff_command, import_command):
    policies.add_command(command)
