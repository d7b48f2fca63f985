"""`ranger-cdap sync lives`: lives of the ledger, of entities, users or states."""

from __future__ import annotations

import click

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import ENTITY
from spark_sync.cli.lives_text import as_json, policy_text, rows
from spark_sync.ledger.life import State
from spark_sync.preflight import check_reading


@click.command(
    cls=Command,
    grows=True,
    examples=(
        "ranger-cdap sync lives dataset:ns1.purchases",
        "ranger-cdap sync lives --state pending --state blocked",
        "ranger-cdap sync lives --creator alice --json",
    ),
)
@click.argument("entities", type=ENTITY, nargs=-1, metavar="[ENTITY]...")
@click.option(
    "--state", "states", type=click.Choice([state.value for state in State]), multiple=True, help="Only these states."
)
@click.option("--creator", "creators", metavar="USER", multiple=True, help="Only lives of these creators.")
@pass_invocation
def lives(
    invocation: Invocation, entities: tuple[EntityId, ...], states: tuple[str, ...], creators: tuple[str, ...]
) -> None:
    """List lives: who created an entity, since when, and whether the grant is in Ranger; also during a run."""
    settings = check_reading(invocation.settings)
    from spark_sync.ledger.delta_ledger import DeltaLedger

    ledger = DeltaLedger(settings.sync.state_dir, settings.cdap.instance)
    found = ledger.find_lives(entities=entities, states=[State(state) for state in states], creators=creators)
    if invocation.as_json:
        invocation.print_json_by_line({"lives": [as_json(life) for life in found]})
        return
    invocation.print_first(
        ["state", "entity", "creator", "why", "life", "policy"],
        [[*row, str(life.number), policy_text(life)] for row, life in zip(rows(found), found, strict=True)],
    )
    invocation.console.print(f"{len(found)} lives")
