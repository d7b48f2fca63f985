"""`ranger-cdap sync`: the group of the sync job's commands."""

from __future__ import annotations

from typing import Final

import click

from ranger_cdap.cli.command import CommandGroup, add_lazily

COMMANDS: Final = {
    "run": "spark_sync.cli.run:run",
    "inventory": "spark_sync.cli.inventory:inventory",
    "repair": "spark_sync.cli.repair:repair",
    "baseline": "spark_sync.cli.baseline:baseline",
    "status": "spark_sync.cli.status:status",
    "lives": "spark_sync.cli.lives_list:lives",
    "reconcile": "spark_sync.cli.reconcile:reconcile",
    "regrant": "spark_sync.cli.regrant:regrant",
    "rezone": "spark_sync.cli.rezone:rezone",
    "retry": "spark_sync.cli.overrides:retry",
    "assign": "spark_sync.cli.overrides:assign",
    "forget": "spark_sync.cli.overrides:forget",
}


@click.group(cls=CommandGroup, examples=("ranger-cdap sync run", "ranger-cdap sync status"))
def sync() -> None:
    """Grant creators of CDAP entities their privileges in Ranger (a PySpark job)."""


add_lazily(sync, COMMANDS)
