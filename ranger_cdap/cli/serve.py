"""`ranger-cdap serve`: run the decision service until a signal stops it."""

from __future__ import annotations

import gc
import logging
import sys

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.service.decision_service import DecisionService
from ranger_cdap.service.http.json_log import JsonLines, Repeats

_LONGEST_TURN = 0.0005  # seconds


@click.command(
    cls=Command,
    examples=("ranger-cdap serve", "ranger-cdap --config /etc/ranger-cdap.toml serve --quiet"),
)
@pass_invocation
def serve(invocation: Invocation) -> None:
    """Run the decision service until Ctrl-C or SIGTERM; it logs JSON lines to standard error.

    With --quiet it logs warnings and errors only. Its address is printed to standard output.
    """
    settings = invocation.settings
    _log_json(logging.WARNING if invocation.quiet else logging.INFO)
    service = DecisionService(settings)
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
        _prefer_short_waits()
        service.run()
    finally:
        service.close()


def _prefer_short_waits() -> None:
    """Tune this whole process for low tail latency, at the cost of a little throughput.

    While another thread compiles policies or writes audit records, a request would wait for it 5 ms at a time; and a
    garbage collection over loaded policies, none of which is garbage, takes tens of milliseconds.
    """
    sys.setswitchinterval(_LONGEST_TURN)
    gc.collect()
    gc.freeze()


def _log_json(level: int) -> None:
    # A short-lived command reports the state of its policies itself; a service has to log it.
    logging.getLogger("ranger_cdap.policies.refresh.policy_refresher").setLevel(logging.NOTSET)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(Repeats())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
