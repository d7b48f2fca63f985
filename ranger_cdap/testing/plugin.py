"""The embedded Ranger Admin as a plugin: its command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranger_cdap.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def ranger_cdap_register_commands(cli: click.Group) -> None:
    """Add `embedded-admin`."""
    from ranger_cdap.cli.command import add_lazily

    add_lazily(cli, {"embedded-admin": "ranger_cdap.testing.command:embedded_admin"})
