"""`ranger-cdap policies`: commands about the policies themselves."""

from __future__ import annotations

import click

from ranger_cdap.cli.lint import lint_command


@click.group()
def policies() -> None:
    """Look at the policies of the service."""


policies.add_command(lint_command)
