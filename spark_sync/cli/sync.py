"""`ranger-cdap sync`: the group of the sync job's commands."""

from __future__ import annotations

import click

from ranger_cdap.cli.command import CommandGroup
from spark_sync.cli.baseline import baseline
from spark_sync.cli.inventory import inventory
from spark_sync.cli.overrides import assign, forget, retry
from spark_sync.cli.reconcile import reconcile
from spark_sync.cli.regrant import regrant
from spark_sync.cli.run import run
from spark_sync.cli.status import status


@click.group(cls=CommandGroup, examples=("ranger-cdap sync run", "ranger-cdap sync status"))
def sync() -> None:
    """Give the creators of CDAP entities their privileges in Ranger (a PySpark job)."""


for command in (run, inventory, baseline, status, reconcile, regrant, retry, assign, forget):
    sync.add_command(command)
