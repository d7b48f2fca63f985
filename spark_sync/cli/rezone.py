"""`ranger-cdap sync rezone`: move existing grants into the security zone that came over them."""

from __future__ import annotations

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from spark_sync.cli.regrant import show_regrant
from spark_sync.preflight import check_ledger


@click.command(
    cls=Command,
    grows=True,
    examples=("ranger-cdap sync rezone --zone finance", "ranger-cdap sync rezone --zone finance --yes"),
    exits={
        ExitCode.OK: "the moves are shown or, with --yes, sent",
        ExitCode.LEASE_HELD: MEANINGS[ExitCode.LEASE_HELD],
    },
)
@click.option("--zone", metavar="NAME", required=True, help="The zone in Ranger.")
@click.option("--yes", is_flag=True, help="Send the moves, and everything else that is pending.")
@pass_invocation
def rezone(invocation: Invocation, zone: str, yes: bool) -> None:
    """Move grants that a security zone came over into it; without --yes only show them.

    In the zone they are in effect again. A policy that was edited manually stays where it is, without the creator.
    """
    settings = check_ledger(invocation.settings)
    from spark_sync.reconcile.regrant import regrant

    with invocation.messages.status("comparing grants with the zones") as shown:
        report = regrant(settings, zone=zone, send=yes, progress=shown.update)
    show_regrant(invocation, report, sent=yes, changing=f"grants to move into zone {zone}")
