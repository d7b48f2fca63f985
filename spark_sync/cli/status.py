"""`ranger-cdap sync status`: what the ledger holds."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from ranger_cdap.cli.invocation import Invocation, pass_invocation
from spark_sync.cli.lives import as_json, rows
from spark_sync.life import State
from spark_sync.session import require_spark, spark_session


@click.command()
@pass_invocation
def status(invocation: Invocation) -> None:
    """Show how many grants stand, and what waits for what."""
    require_spark()
    from spark_sync.status import status as read_status

    settings = invocation.settings
    with invocation.messages.status("reading the ledger"), spark_session(settings.sync) as spark:
        report = read_status(settings, spark)
    taken = None if report.baseline is None else datetime.fromtimestamp(report.baseline / 1000, UTC).isoformat()
    if invocation.as_json:
        invocation.print_json(
            {
                "baseline": taken,
                "counts": {state.value: report.counts.get(state, 0) for state in State},
                "waiting": [as_json(life) for life in report.waiting],
            }
        )
        return
    invocation.console.print(f"baseline: {taken or 'none; ambiguous events stay unconfirmed and grant nothing'}")
    invocation.print_table(["state", "lives"], [[state.value, str(report.counts.get(state, 0))] for state in State])
    if report.waiting:
        invocation.print_table(["state", "entity", "creator", "why"], rows(report.waiting))
