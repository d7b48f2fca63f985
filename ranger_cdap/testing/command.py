"""`ranger-cdap embedded-admin`: run a small Ranger Admin on this machine, for evaluation."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.config import resolve_secret
from ranger_cdap.errors import InvalidInput
from ranger_cdap.net.listener import stop_signals
from ranger_cdap.testing.admin import EmbeddedAdmin
from ranger_cdap.testing.admin.api.bootstrap import ADMIN
from ranger_cdap.testing.admin.rules.passwords import random_password

RANGER_PORT = 6080
_SECRET_KINDS = ("env:", "file:")


@click.command(
    "embedded-admin",
    cls=Command,
    examples=(
        "ranger-cdap embedded-admin",
        "ranger-cdap embedded-admin --database ranger.db --admin-password file:/run/secrets/admin",
    ),
)
@click.option("--port", type=click.IntRange(0, 65535), default=RANGER_PORT, show_default=True, help="0: any free port.")
@click.option("--database", type=FILE, metavar="FILE", help="SQLite file; default: in memory.")
@click.option(
    "--admin-password",
    metavar="env:NAME|file:PATH",
    help="Source of the password of `admin`; default: a generated one, printed once.",
)
@pass_invocation
def embedded_admin(invocation: Invocation, port: int, database: Path | None, admin_password: str | None) -> None:
    """Run a small Ranger Admin for evaluation, until Ctrl-C or SIGTERM. Not for production."""
    password = random_password() if admin_password is None else _given(admin_password)
    server = EmbeddedAdmin(database, admin_password=password, port=port)
    with stop_signals(server.request_stop), server as admin:
        invocation.messages.print(f"embedded Ranger Admin, not for production: {admin.url}")
        invocation.messages.print(f"data: {database or 'in memory, lost at exit'}")
        if invocation.as_json:
            made = {"password": password} if admin_password is None else {}
            invocation.print_json({"url": admin.url, "user": ADMIN, **made})
        elif admin_password is None:
            click.echo(f"user: {ADMIN}  password: {password}")
        sys.stdout.flush()
        admin.wait()
    invocation.messages.print("stopped")


def _given(text: str) -> str:
    if not text.startswith(_SECRET_KINDS):
        raise InvalidInput(
            "`--admin-password` takes `env:NAME` or `file:PATH`, because others on this machine can read a command line"
        )
    return resolve_secret(text).reveal()
