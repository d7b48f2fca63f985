"""`ranger-cdap reference`: print the reference of the command line."""

from __future__ import annotations

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.commands_page import page


@click.command(cls=Command, answers=False, examples=("ranger-cdap reference",))
@click.pass_context
def reference(context: click.Context) -> None:
    """Print all commands with their arguments, options, examples and exit codes, as Markdown."""
    root = context.find_root().command
    assert isinstance(root, click.Group)
    click.echo(page(root), nl=False)
