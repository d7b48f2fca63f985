"""What commands that change Ranger Admin share: whose account they use, and asking before acting."""

from __future__ import annotations

import os
import sys

import click

from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.config import Secret, resolve_secret
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.client.ranger_admin import RangerAdmin

PASSWORD_VARIABLE = "RANGER_CDAP_SETUP_PASSWORD"  # noqa: S105 the name of a variable, not a password


def administrator(invocation: Invocation, user: str) -> RangerAdmin:
    """Ranger Admin by that account; its password is asked for, or in the environment, and never stored.

    There it may be written as any secret: `file:PATH`, `env:NAME`, or as it is.

    Raises:
        InvalidInput: it is not in the environment, and stdin is not a terminal.
    """
    ranger = invocation.settings.ranger
    if given := os.environ.get(PASSWORD_VARIABLE):
        password = resolve_secret(given)
    elif not sys.stdin.isatty():
        raise InvalidInput(
            f"there is no terminal to ask for the password of {user}: put it, or `file:PATH`, into {PASSWORD_VARIABLE}"
        )
    else:
        password = Secret(click.prompt(f"Password of {user} in {ranger.url}", hide_input=True, err=True))
    return RangerAdmin.connect(ranger, user, password)


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
