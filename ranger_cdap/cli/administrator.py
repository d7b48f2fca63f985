"""The administrator's account and the confirmation, shared by the commands that change Ranger Admin."""

from __future__ import annotations

import os
import sys

import click

from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.config import Secret, resolve_secret
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.client.sign_in import AccountSource

PASSWORD_VARIABLE = "RANGER_CDAP_SETUP_PASSWORD"  # noqa: S105 the name of a variable, not a password


def administrator(invocation: Invocation, user: str) -> RangerAdmin:
    """Open Ranger Admin with that account; its password comes from the environment or a prompt, and is never stored.

    In the environment it may be written like any secret: `file:PATH`, `env:NAME`, or the text itself.

    Raises:
        InvalidInput: it is not in the environment, and stdin is not a terminal.
    """
    settings = invocation.settings
    if given := os.environ.get(PASSWORD_VARIABLE):
        password = resolve_secret(given)
    elif not sys.stdin.isatty():
        raise InvalidInput(
            f"stdin is not a terminal: set {PASSWORD_VARIABLE} to the password of {user}, or to `file:PATH`"
        )
    else:
        password = Secret(click.prompt(f"Password of {user} in {settings.ranger.url}", hide_input=True, err=True))
    return RangerAdmin.connect(settings, user, password, source=AccountSource.ADMINISTRATOR)


def confirm(question: str) -> None:
    """Ask the user to confirm what was shown.

    Raises:
        Abort: the user declined.
        InvalidInput: stdin is not a terminal.
    """
    try:
        wanted = click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        raise InvalidInput("stdin is not a terminal, so nothing was done; `--yes` confirms beforehand") from None
    if not wanted:
        raise click.Abort
