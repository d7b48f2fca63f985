"""`ranger-cdap plugins`: the installed plugins and their hooks."""

from __future__ import annotations

import click
from msgspec import structs

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.plugins.manager import provided


@click.command(cls=Command, examples=("ranger-cdap plugins", "ranger-cdap plugins --json"))
@pass_invocation
def plugins(invocation: Invocation) -> None:
    """Show what each installed plugin provides, and through which hook."""
    found = sorted(provided(invocation.plugins), key=lambda one: (one.plugin, one.hook))
    rows = [[one.plugin, f"{one.package} {one.version}".strip(), one.hook, ", ".join(one.names)] for one in found]
    invocation.show_table([structs.asdict(one) for one in found], ["plugin", "package", "hook", "names"], rows)
