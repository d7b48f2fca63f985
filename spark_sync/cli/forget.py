"""`ranger-cdap sync forget`: an entity is to have no creator."""

from __future__ import annotations

import click

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import ENTITY
from spark_sync import by_hand
from spark_sync.cli.lives import as_json, say_changes
from spark_sync.preflight import check_ledger
from spark_sync.session import spark_session


@click.command(
    cls=Command,
    examples=("ranger-cdap sync forget dataset:ns1.purchases",),
    exits={ExitCode.LEASE_HELD: MEANINGS[ExitCode.LEASE_HELD]},
)
@click.argument("entity", type=ENTITY, metavar="ENTITY")
@pass_invocation
def forget(invocation: Invocation, entity: EntityId) -> None:
    """Forget who created ENTITY: his grant is taken back, and nobody else becomes its creator by touching it."""
    settings = invocation.settings
    check_ledger(settings)
    with invocation.messages.status("looking into the ledger"), spark_session(settings.sync) as spark:
        lives = by_hand.forget(settings, spark, entity)
    if invocation.as_json:
        invocation.print_json({"lives": [as_json(life) for life in lives]})
    else:
        say_changes(invocation, lives)
