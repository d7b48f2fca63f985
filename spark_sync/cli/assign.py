"""`ranger-cdap sync assign`: say who the creator of an entity is."""

from __future__ import annotations

import click

from ranger_cdap.cdap.entity import parse_entity
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from spark_sync import by_hand
from spark_sync.cli.lives import as_json, say_changes
from spark_sync.session import require_spark, spark_session


@click.command()
@click.argument("entity")
@click.argument("user")
@pass_invocation
def assign(invocation: Invocation, entity: str, user: str) -> None:
    """Make USER the creator of ENTITY, like `dataset:ns1.purchases`; whoever was it loses his grant first."""
    wanted = parse_entity(entity)
    require_spark()
    settings = invocation.settings
    with invocation.messages.status("looking into the ledger"), spark_session(settings.sync) as spark:
        lives = by_hand.assign(settings, spark, wanted, user)
    if invocation.as_json:
        invocation.print_json({"lives": [as_json(life) for life in lives]})
    else:
        say_changes(invocation, lives)
