"""`ranger-cdap sync forget`: an entity is to have no creator."""

from __future__ import annotations

import time

import click

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import ENTITY
from spark_sync.cli.lives import as_json, say_changes
from spark_sync.preflight import check_ledger
from spark_sync.reconcile import manual
from spark_sync.spark.session import spark_session


@click.command(
    cls=Command,
    examples=("ranger-cdap sync forget dataset:ns1.purchases",),
    exits={ExitCode.LEASE_HELD: MEANINGS[ExitCode.LEASE_HELD]},
)
@click.argument("entity", type=ENTITY, metavar="ENTITY")
@click.option("--why", metavar="TEXT", default="", help="The reason, for the audit.")
@pass_invocation
def forget(invocation: Invocation, entity: EntityId, why: str) -> None:
    """Forget who created ENTITY: their grant is revoked, and no one else becomes its creator by touching it."""
    settings = invocation.settings
    check_ledger(settings)
    with invocation.messages.status("looking into the ledger"), spark_session(settings.sync) as spark:
        lives = manual.forget(settings, spark, entity, now=time.time_ns() // 1_000_000, why=why)
    if invocation.as_json:
        invocation.print_json({"lives": [as_json(life) for life in lives]})
    else:
        say_changes(invocation, lives)
