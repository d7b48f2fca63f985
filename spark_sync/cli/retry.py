"""`ranger-cdap sync retry`: retry blocked and failed grants."""

from __future__ import annotations

import click

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import ENTITY
from spark_sync.cli.lives import as_json
from spark_sync.preflight import check_ledger
from spark_sync.reconcile import manual
from spark_sync.spark.session import spark_session


@click.command(
    cls=Command,
    examples=("ranger-cdap sync retry", "ranger-cdap sync retry dataset:ns1.purchases"),
    exits={ExitCode.LEASE_HELD: MEANINGS[ExitCode.LEASE_HELD]},
)
@click.argument("entities", type=ENTITY, nargs=-1, metavar="[ENTITY]...")
@pass_invocation
def retry(invocation: Invocation, entities: tuple[EntityId, ...]) -> None:
    """Make grants that are blocked or failed pending again: those of the entities named, or all."""
    settings = invocation.settings
    check_ledger(settings)
    with invocation.messages.status("looking into the ledger"), spark_session(settings.sync) as spark:
        report = manual.retry(settings, spark, entities)
    if invocation.as_json:
        invocation.print_json({name: [as_json(life) for life in getattr(report, name)] for name in report.__slots__})
        return
    for life in report.not_stuck:
        invocation.console.print(f"{life.entity} is {life.state}; only blocked or failed grants are retried")
    if report.pending:
        for life in report.pending:
            invocation.console.print(f"{life.entity} is pending for `{life.creator}`")
        invocation.console.print("the next `ranger-cdap sync run` sends it")
    elif not report.not_stuck:
        invocation.console.print("nothing is blocked or failed")
