"""`ranger-cdap insights report`: what of the policies was used, what was denied, what they would decide otherwise."""

from __future__ import annotations

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.questions.policy_index import PolicyIndex
from spark_sync.cli.insights_input import AuditArguments, audit_arguments, read_facts
from spark_sync.cli.insights_output import present
from spark_sync.insights.activity import repeated_denials, stopped_users
from spark_sync.insights.differences import GAINED, LOST, differences
from spark_sync.insights.privileges import unused_policies, unused_privileges
from spark_sync.insights.report import InsightReport
from spark_sync.insights.table import iso
from spark_sync.insights.tally import DAY


@click.command(
    "report",
    cls=Command,
    examples=(
        "ranger-cdap insights report audit.jsonl --policies current.json --userstore users.json",
        "ranger-cdap insights report /var/log/ranger-cdap/audit --days 30 --json",
        "ranger-cdap insights report hdfs://namenode/ranger/audit --policies new.json --since 90d --fail-on lost",
    ),
    exits={
        ExitCode.OK: "shown; nothing that `--fail-on` forbids",
        ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY],
        ExitCode.ACCESS_CHANGED: MEANINGS[ExitCode.ACCESS_CHANGED],
    },
)
@audit_arguments
@click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    default=90,
    show_default=True,
    metavar="N",
    help="What was not used in the last N days before --until counts as unused.",
)
@click.option(
    "--fail-on", type=click.Choice([GAINED, LOST, "any"]), help="Exit with 6 if an access would be decided so."
)
@pass_invocation
@click.pass_context
def report(
    context: click.Context,
    invocation: Invocation,
    arguments: AuditArguments,
    days: int,
    fail_on: str | None,
) -> None:
    """Show what policies would decide otherwise, privileges not used, denials that repeat, and who stopped.

    Every record of AUDIT (files, directories, URLs: a record of JSON per line) is decided again by the engine,
    at its time and from its address, by the policies of --policies (default: Ranger's current ones). Records name no
    groups: those of the user store and of --users count, as they are today.
    """
    read = read_facts(invocation, arguments)
    facts, groups, cutoff = read.facts, read.policies.groups, read.period.until - days * DAY
    first = min(use.first for use in facts.uses)
    if first > cutoff:
        invocation.messages.print(
            f"warning: the audit begins on {(iso(first) or '')[:10]}, so it does not cover {days} days"
        )
    index = PolicyIndex.of(read.policies.documents)
    otherwise = differences(facts, groups)
    tables = (
        otherwise,
        unused_privileges(index, facts, groups, cutoff),
        unused_policies(index, facts, cutoff),
        repeated_denials(facts),
        stopped_users(index, facts, groups, cutoff),
    )
    present(invocation, InsightReport.of(facts, read.period, groups, tables, now=read.now))
    changes = {row[0] for row in otherwise.rows}
    if changes if fail_on == "any" else fail_on in changes:
        context.exit(ExitCode.ACCESS_CHANGED)
