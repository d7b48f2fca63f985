"""`ranger-cdap sync repair`: the tables of the ledger, of what can still be read."""

from __future__ import annotations

import time
from dataclasses import asdict

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.errors import LedgerLost
from spark_sync.preflight import check_ledger


@click.command(
    cls=Command,
    examples=("ranger-cdap sync repair",),
    exits={
        ExitCode.OK: "every table is complete; nothing that grants depend on was lost",
        ExitCode.NO: "something was lost; the next steps are shown",
        ExitCode.LEASE_HELD: MEANINGS[ExitCode.LEASE_HELD],
    },
)
@pass_invocation
@click.pass_context
def repair(context: click.Context, invocation: Invocation) -> None:
    """Rebuild ledger tables with damaged files from all readable rows, and show what is lost.

    The damaged table is kept as `TABLE.spoiled-TIME`. If anything is lost, nothing is granted until a new inventory is
    entered.
    """
    settings = check_ledger(invocation.settings)
    from spark_sync.ledger.salvage import repair_ledger

    with invocation.messages.status("reading the ledger"):
        made = repair_ledger(settings.sync.state_dir, settings.cdap.instance, now=time.time_ns() // 1_000_000)
    lost = any(each.lacks_facts for each in made)
    if invocation.as_json:
        repaired = [{**asdict(each), "spoiled": str(each.spoiled)} for each in made]
        invocation.print_json({"repaired": repaired})
    else:
        if not made:
            invocation.console.print("no table of the ledger is spoiled")
        for each in made:
            invocation.console.print(f"`{each.table}`: {each.rows:,} rows kept; spoiled: `{each.spoiled}`")
            for one in each.lost:
                invocation.console.print(f"  lost: {one}")
        if lost:
            invocation.console.print(f"next: {LedgerLost.remedy}")
    context.exit(ExitCode.NO if lost else ExitCode.OK)
