"""`ranger-cdap insights replay`: would other policies have decided otherwise on what really happened."""

from __future__ import annotations

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from spark_sync.cli.insights_input import AuditArguments, audit_arguments, read_facts
from spark_sync.cli.insights_output import OutputFiles, output_files, present
from spark_sync.insights.differences import GAINED, LOST, differences
from spark_sync.insights.report import InsightReport


@click.command(
    "replay",
    cls=Command,
    examples=(
        "ranger-cdap insights replay audit.jsonl --policies new.json",
        "ranger-cdap insights replay hdfs://namenode/ranger/audit --policies new.json --since 90d --fail-on lost",
    ),
    exits={
        ExitCode.OK: "shown; nothing that `--fail-on` forbids",
        ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY],
        ExitCode.ACCESS_CHANGED: MEANINGS[ExitCode.ACCESS_CHANGED],
    },
)
@audit_arguments
@output_files
@click.option(
    "--fail-on",
    type=click.Choice([GAINED, LOST, "any"]),
    help="Exit with 6 if an access would be decided so.",
)
@pass_invocation
@click.pass_context
def replay(
    context: click.Context,
    invocation: Invocation,
    arguments: AuditArguments,
    outputs: OutputFiles,
    fail_on: str | None,
) -> None:
    """Show which accesses of an audit other policies would have decided otherwise.

    Every record of AUDIT (files, directories, URLs: JSON lines, Solr exports, Parquet) is decided again by the engine,
    at its time and from its address, by the policies of --policies (default: Ranger's current ones). Records name no
    groups: those of the user store and of --users count, as they are today.
    """
    outputs.check()
    with read_facts(invocation, arguments) as read:
        table = differences(read.facts, read.policies.groups)
        report = InsightReport.of(read.facts, read.period, read.policies.groups, (table,), now=read.now)
        present(invocation, report, outputs, read.spark)
    changes = {row[0] for row in table.rows}
    if changes if fail_on == "any" else fail_on in changes:
        context.exit(ExitCode.ACCESS_CHANGED)
