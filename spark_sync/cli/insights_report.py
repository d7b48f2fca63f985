"""`ranger-cdap insights report`: what of the policies was used, what was denied, and who and what stopped."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.questions.policy_index import PolicyIndex
from spark_sync.cli.insights_input import AuditArguments, audit_arguments, read_facts
from spark_sync.cli.insights_output import OutputFiles, output_files, present
from spark_sync.insights.activity import repeated_denials, stopped_users, unread_entities, use_by_group
from spark_sync.insights.privileges import unused_policies, unused_privileges
from spark_sync.insights.report import InsightReport
from spark_sync.insights.request import RequestBuilder
from spark_sync.insights.table import iso
from spark_sync.insights.tally import DAY
from spark_sync.review.entities import read_entities


@click.command(
    "report",
    cls=Command,
    examples=(
        "ranger-cdap insights report audit.jsonl --policies current.json --userstore users.json",
        "ranger-cdap insights report /var/log/ranger-cdap/audit --days 30 --inventory inventory.jsonl --out insights",
    ),
    exits={ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY]},
)
@audit_arguments
@output_files
@click.option("--inventory", type=FILE, metavar="FILE", help="Inventory (`sync inventory`), for entities no one reads.")
@click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    default=90,
    show_default=True,
    metavar="N",
    help="What was not used in the last N days before --until counts as unused.",
)
@pass_invocation
def report(
    invocation: Invocation,
    arguments: AuditArguments,
    outputs: OutputFiles,
    inventory: Path | None,
    days: int,
) -> None:
    """Show privileges and policies that were not used, denials that repeat, people who stopped, and unread entities.

    AUDIT is read as by `insights replay`; the policies of --policies (default: Ranger's current ones) are those the
    answers are about.
    """
    outputs.check()
    instance = invocation.settings.cdap.instance
    known = None
    if inventory is not None:
        known = read_entities(inventory, instance=instance, now=time.time_ns() // 1_000_000)
    with read_facts(invocation, arguments) as read:
        facts, groups, cutoff = read.facts, read.policies.groups, read.period.until - days * DAY
        first = min(use.first for use in facts.uses)
        if first > cutoff:
            invocation.messages.print(
                f"warning: the audit begins on {(iso(first) or '')[:10]}, so it does not cover {days} days"
            )
        index, builder = PolicyIndex.of(read.policies.documents), RequestBuilder.of(read.policies.engine)
        tables = (
            unused_privileges(index, facts, groups, cutoff),
            unused_policies(index, facts, cutoff),
            repeated_denials(facts),
            stopped_users(index, facts, groups, cutoff),
            unread_entities(facts, builder, cutoff, known, instance),
            use_by_group(facts, builder, groups),
        )
        found = InsightReport.of(facts, read.period, groups, tables, now=read.now)
        present(invocation, found, outputs, read.spark)
