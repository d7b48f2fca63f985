"""`ranger-cdap embedded-admin`: a small Ranger Admin on this machine, for trying out."""

from __future__ import annotations

from pathlib import Path

import click

from ranger_cdap.config import resolve_secret
from ranger_cdap.embedded_admin import EmbeddedAdmin
from ranger_cdap.embedded_admin.bootstrap import ADMIN
from ranger_cdap.embedded_admin.passwords import random_password
from ranger_cdap.errors import InvalidInput

RANGER_PORT = 6080
_SECRET_KINDS = ("env:", "file:")


@click.command("embedded-admin")
@click.option("--port", type=click.IntRange(0, 65535), default=RANGER_PORT, show_default=True, help="0: a free one.")
@click.option("--database", type=click.Path(path_type=Path, dir_okay=False), help="SQLite file; without it, in memory.")
@click.option(
    "--admin-password",
    metavar="env:NAME|file:PATH",
    help="Where the password of `admin` is; without it a new one is made and printed once.",
)
@click.option("--policy-deltas", is_flag=True, help="Send plugins that ask for it only what changed.")
def embedded_admin(port: int, database: Path | None, admin_password: str | None, policy_deltas: bool) -> None:
    """Start a small Ranger Admin for trying out, until Ctrl-C. Not for production."""
    password = random_password() if admin_password is None else _given(admin_password)
    with EmbeddedAdmin(database, admin_password=password, port=port, policy_deltas=policy_deltas) as admin:
        click.echo(f"embedded Ranger Admin, not for production: {admin.url}", err=True)
        click.echo(f"data: {database or 'in memory, gone at the end'}", err=True)
        if admin_password is None:
            click.echo(f"user: {ADMIN}  password: {password}")
        try:
            admin.wait()
        except KeyboardInterrupt:
            click.echo("stopped", err=True)


def _given(text: str) -> str:
    if not text.startswith(_SECRET_KINDS):
        raise InvalidInput(
            "`--admin-password` takes `env:NAME` or `file:PATH`, because others on this machine can read a command line"
        )
    return resolve_secret(text).reveal()
