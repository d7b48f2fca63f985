"""`ranger-cdap sync baseline`: enter the existing entities."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path

import click

from ranger_cdap.cdap.inventory import read_inventory
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from spark_sync.preflight import check_ledger
from spark_sync.reconcile.baseline import enter_baseline


@click.command(
    cls=Command,
    examples=("ranger-cdap sync baseline --inventory inventory.jsonl",),
    exits={ExitCode.LEASE_HELD: MEANINGS[ExitCode.LEASE_HELD]},
)
@click.option(
    "--inventory",
    "path",
    type=FILE,
    metavar="FILE",
    required=True,
    help="Inventory as JSON lines, as `sync inventory` writes it.",
)
@pass_invocation
def baseline(invocation: Invocation, path: Path) -> None:
    """Enter an inventory: existing entities become known and grant nothing."""
    settings = check_ledger(invocation.settings)
    inventory = read_inventory(path, instance=settings.cdap.instance, now=time.time_ns() // 1_000_000)
    with invocation.messages.status("entering the inventory"):
        report = enter_baseline(settings, inventory)
    sentence = f"the inventory has {report.entities} entities; {report.became_known} of them became known"
    invocation.show(asdict(report), [sentence])
