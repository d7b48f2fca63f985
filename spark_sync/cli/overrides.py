"""`ranger-cdap sync retry`, `sync assign` and `sync forget`: manual overrides."""

from __future__ import annotations

import time

import click

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import check_grantee
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import ENTITY
from spark_sync.cli.lives_text import changes_json, print_changes
from spark_sync.grants.plan_settings import non_creators
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.preflight import check_ledger
from spark_sync.reconcile import manual


@click.command(
    cls=Command,
    examples=("ranger-cdap sync retry", "ranger-cdap sync retry dataset:ns1.purchases"),
    exits={ExitCode.LEASE_HELD: MEANINGS[ExitCode.LEASE_HELD]},
)
@click.argument("entities", type=ENTITY, nargs=-1, metavar="[ENTITY]...")
@pass_invocation
def retry(invocation: Invocation, entities: tuple[EntityId, ...]) -> None:
    """Set blocked and failed grants to pending again: those of the given entities, or all."""
    settings = check_ledger(invocation.settings)
    with invocation.messages.status("looking into the ledger"):
        changes = manual.retry(settings, entities)
    _print(invocation, changes)


@click.command(
    cls=Command,
    examples=(
        "ranger-cdap sync assign dataset:ns1.purchases alice",
        "ranger-cdap sync assign namespace:payments alice --reason 'ticket 4711: alice created it'",
    ),
    exits={ExitCode.LEASE_HELD: MEANINGS[ExitCode.LEASE_HELD]},
)
@click.argument("entity", type=ENTITY, metavar="ENTITY")
@click.argument("user", metavar="USER")
@click.option(
    "--reason",
    "why",
    metavar="TEXT",
    default="",
    help="The reason, for the audit; required if ENTITY is contested or suspended.",
)
@click.option("--anyone", is_flag=True, help="Allow a USER who is not among the candidates of a contested ENTITY.")
@pass_invocation
def assign(invocation: Invocation, entity: EntityId, user: str, why: str, anyone: bool) -> None:
    """Make USER the creator of ENTITY; the former creator loses the grant first."""
    settings = check_ledger(invocation.settings)
    check_grantee(user, non_creators=non_creators(settings))
    now = time.time_ns() // 1_000_000
    with invocation.messages.status("looking into the ledger"):
        changes = manual.override(settings, entity, user, now=now, why=why, anyone=anyone)
    _print(invocation, changes)
    if why and not settings.audit.sinks:
        invocation.messages.print("note: the reason is not recorded, because there is no audit sink: `audit.sinks`")


@click.command(
    cls=Command,
    examples=("ranger-cdap sync forget dataset:ns1.purchases",),
    exits={ExitCode.LEASE_HELD: MEANINGS[ExitCode.LEASE_HELD]},
)
@click.argument("entity", type=ENTITY, metavar="ENTITY")
@click.option("--reason", "why", metavar="TEXT", default="", help="The reason, for the audit.")
@pass_invocation
def forget(invocation: Invocation, entity: EntityId, why: str) -> None:
    """Forget who created ENTITY: their grant is revoked, and no one else becomes its creator by touching it."""
    settings = check_ledger(invocation.settings)
    with invocation.messages.status("looking into the ledger"):
        changes = manual.override(settings, entity, None, now=time.time_ns() // 1_000_000, why=why)
    _print(invocation, changes)


def _print(invocation: Invocation, changes: list[LedgerChange]) -> None:
    if invocation.as_json:
        invocation.print_json({"lives": changes_json(changes)})
        return
    for life in (after for before, after, _ in changes if after and after == before):
        invocation.console.print(f"{life.entity} is {life.state}; only blocked or failed grants are retried")
    print_changes(invocation, [change for change in changes if change.after != change.before])
    if not changes:
        invocation.console.print("nothing is blocked or failed")
