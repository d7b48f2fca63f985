"""The tools as a plugin: their commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ranger_cdap.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    import click

COMMANDS: Final = {
    "access": "ranger_cdap.tools.cli.access:access",
    "needs": "ranger_cdap.tools.cli.needs:needs",
    "policies": "ranger_cdap.tools.cli.policies:policies",
    "roles": "ranger_cdap.tools.cli.roles:roles",
    "import": "ranger_cdap.tools.cli.import_sentry:import_group",
    "shadow": "ranger_cdap.tools.cli.shadow:shadow",
    "audit report": "ranger_cdap.tools.cli.audit_report:report_command",
}


@hookimpl
def ranger_cdap_register_commands(cli: click.Group) -> None:
    """Add the commands."""
    from ranger_cdap.cli.command import add_lazily

    add_lazily(cli, COMMANDS)
