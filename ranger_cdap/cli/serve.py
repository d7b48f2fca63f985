"""`ranger-cdap serve`: run the decision service until a signal stops it."""

from __future__ import annotations

import sys

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.service.decision_service import DecisionService
from ranger_cdap.service.http.server import prefer_short_waits


@click.command(
    cls=Command,
    runs_on=True,
    examples=(
        "ranger-cdap serve",
        "ranger-cdap --config /etc/ranger-cdap.toml serve --quiet",
    ),
)
@pass_invocation
def serve(invocation: Invocation) -> None:
    """Run the decision service until Ctrl-C or SIGTERM; it logs to standard error.

    Its address is printed to standard output.
    """
    settings = invocation.settings
    invocation.start_log()
    service = DecisionService(settings)
    try:
        invocation.note_missing_file()
        enforcement = service.state.authorizer.decider.config.enforcement
        document = {"url": service.url, "enforcement": str(enforcement)}
        invocation.show(document, [f"listening on {service.url}; {enforcement}"])
        sys.stdout.flush()
        if not settings.service.callers:
            invocation.messages.print(
                "no callers configured; every request will be rejected: name them in `[[service.callers]]`"
            )
        prefer_short_waits()
        service.run()
    finally:
        service.close()
