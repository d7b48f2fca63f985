"""`ranger-cdap plugins`: the installed plugins and their hooks."""

from __future__ import annotations

import click
from msgspec import structs

from ranger_cdap.cli import hooks_page
from ranger_cdap.cli.command import Command, CommandGroup
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.plugins.manager import provided


@click.group(
    cls=CommandGroup,
    invoke_without_command=True,
    examples=("ranger-cdap plugins", "RANGER_CDAP_TRACE_PLUGINS=1 ranger-cdap plugins"),
)
@pass_invocation
@click.pass_context
def plugins(context: click.Context, invocation: Invocation) -> None:
    """Show what each installed plugin provides, and by which hook.

    With RANGER_CDAP_TRACE_PLUGINS=1 every command traces its hook calls on standard error.
    """
    if context.invoked_subcommand is not None:
        return
    found = sorted(provided(invocation.plugins), key=lambda one: (one.plugin, one.hook))
    if invocation.as_json:
        invocation.print_json([structs.asdict(one) for one in found])
    else:
        rows = [[one.plugin, f"{one.package} {one.version}".strip(), one.hook, ", ".join(one.names)] for one in found]
        invocation.print_table(["plugin", "package", "hook", "names"], rows)


@plugins.command("reference", cls=Command, answers=False, examples=("ranger-cdap plugins reference",))
@pass_invocation
def reference(invocation: Invocation) -> None:
    """Print all hooks that a plugin can implement, as Markdown."""
    click.echo(hooks_page.page(invocation.plugins), nl=False)
