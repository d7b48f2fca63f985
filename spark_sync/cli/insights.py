"""`ranger-cdap insights`: the group of commands on an audit."""

from __future__ import annotations

from typing import Final

import click

from ranger_cdap.cli.command import CommandGroup, add_lazily

COMMANDS: Final = {
    "report": "spark_sync.cli.insights_report:report",
    "propose": "spark_sync.cli.insights_propose:propose_command",
}


@click.group(cls=CommandGroup, examples=("ranger-cdap insights report audit.jsonl --policies new.json",))
def insights() -> None:
    """Learn from months of audit records, on Spark."""


add_lazily(insights, COMMANDS)
