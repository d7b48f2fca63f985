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
from spark_sync.cli.lives import as_json, print_changes
from spark_sync.grants.plan_settings import non_creators
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
    """Make grants that are blocked or failed pending again: those of the entities named, or all."""
    settings = invocation.settings
    check_ledger(settings)
    with invocation.messages.status("looking into the ledger"):
        report = manual.retry(settings, entities)
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


@click.command(
    cls=Command,
    examples=(
        "ranger-cdap sync assign dataset:ns1.purchases alice",
        "ranger-cdap sync assign namespace:payments alice --why 'ticket 4711: alice created it'",
    ),
    exits={ExitCode.LEASE_HELD: MEANINGS[ExitCode.LEASE_HELD]},
)
@click.argument("entity", type=ENTITY, metavar="ENTITY")
@click.argument("user", metavar="USER")
@click.option(
    "--why", metavar="TEXT", default="", help="The reason, for the audit; required if ENTITY is contested or suspended."
)
@click.option("--anyone", is_flag=True, help="Allow a USER who is not among the candidates of a contested ENTITY.")
@pass_invocation
def assign(invocation: Invocation, entity: EntityId, user: str, why: str, anyone: bool) -> None:
    """Make USER the creator of ENTITY; the former creator loses the grant first."""
    settings = invocation.settings
    check_ledger(settings)
    check_grantee(user, non_creators=non_creators(settings))
    now = time.time_ns() // 1_000_000
    with invocation.messages.status("looking into the ledger"):
        lives = manual.assign(settings, entity, user, now=now, why=why, anyone=anyone)
    if invocation.as_json:
        invocation.print_json({"lives": [as_json(life) for life in lives]})
    else:
        print_changes(invocation, lives)
    if why and not settings.audit.sinks:
        invocation.messages.print("note: the reason is not recorded, because there is no audit sink: `audit.sinks`")


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
    with invocation.messages.status("looking into the ledger"):
        lives = manual.forget(settings, entity, now=time.time_ns() // 1_000_000, why=why)
    if invocation.as_json:
        invocation.print_json({"lives": [as_json(life) for life in lives]})
    else:
        print_changes(invocation, lives)
