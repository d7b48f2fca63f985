"""`ranger-cdap serve`: the decision service, until a signal ends it."""

from __future__ import annotations

import logging
import sys

import click

from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.service.json_log import JsonLines
from ranger_cdap.service.server import DecisionService


@click.command()
@click.option("--quiet", is_flag=True, help="Log warnings and errors only.")
@pass_invocation
def serve(invocation: Invocation, *, quiet: bool) -> None:
    """Start the decision service, until Ctrl-C or SIGTERM; it logs JSON lines on standard error."""
    settings = invocation.settings
    _log_json(logging.WARNING if quiet else logging.INFO)
    service = DecisionService(settings)
    try:
        click.echo(f"deciding on {service.url}; {service.desk.authorizer.rules.enforcement}")
        if not settings.service.callers:
            click.echo("nobody may ask yet: name callers in `[[service.callers]]`", err=True)
        service.run()
    finally:
        service.close()


def _log_json(level: int) -> None:
    # A command that ends says itself how its policies are; here nobody else would.
    logging.getLogger("ranger_cdap.policies.keeper").setLevel(logging.NOTSET)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
