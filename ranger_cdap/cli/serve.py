"""`ranger-cdap serve`: run the decision service until a signal stops it."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import click
import msgspec

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.config import Settings
from ranger_cdap.config.loader import check_workers
from ranger_cdap.errors import ServerError
from ranger_cdap.service.decision_service import DecisionService
from ranger_cdap.service.http.json_log import log_json
from ranger_cdap.service.http.server import prefer_short_waits

if TYPE_CHECKING:
    from ranger_cdap.service.workers.service_with_workers import ServiceWithWorkers


@click.command(
    cls=Command,
    examples=(
        "ranger-cdap serve",
        "ranger-cdap serve --workers 4",
        "ranger-cdap --config /etc/ranger-cdap.toml serve --quiet",
    ),
)
@click.option("--workers", type=int, metavar="N", help="Processes that decide; default: `service.workers`.")
@pass_invocation
def serve(invocation: Invocation, workers: int | None) -> None:
    """Run the decision service until Ctrl-C or SIGTERM; it logs JSON lines to standard error.

    With --quiet it logs warnings and errors only. Its address is printed to standard output.
    """
    settings = invocation.settings
    if workers is not None:
        settings = msgspec.structs.replace(settings, service=msgspec.structs.replace(settings.service, workers=workers))
        check_workers(settings.service, "`--workers`")
    level = logging.WARNING if invocation.quiet else logging.INFO
    log_json(level)
    service = DecisionService(settings) if settings.service.workers == 1 else _with_workers(settings, level)
    try:
        enforcement = service.state.authorizer.decider.config.enforcement
        if invocation.as_json:
            invocation.print_json({"url": service.url, "enforcement": str(enforcement)})
            sys.stdout.flush()
        else:
            click.echo(f"listening on {service.url}; {enforcement}")
        if not settings.service.callers:
            invocation.messages.print(
                "no callers configured; every request will be rejected: name them in `[[service.callers]]`"
            )
        prefer_short_waits()
        service.run()
    finally:
        service.close()


def _with_workers(settings: Settings, level: int) -> ServiceWithWorkers:
    try:
        from ranger_cdap.service.workers.service_with_workers import ServiceWithWorkers
    except ModuleNotFoundError as e:
        raise ServerError(f"`{e.name}` is not installed; install it with: pip install 'ranger-cdap[service]'") from None
    return ServiceWithWorkers(settings, level)
