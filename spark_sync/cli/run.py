"""`ranger-cdap sync run`: one run of the job."""

from __future__ import annotations

import click

from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.errors import RangerAdminError
from spark_sync.cli.lives import as_json, rows
from spark_sync.life import State
from spark_sync.report import RunReport
from spark_sync.session import require_spark, spark_session


@click.command()
@click.option("--once", is_flag=True, default=True, help="One run, then the end; this is what it does anyway.")
@pass_invocation
def run(invocation: Invocation, once: bool) -> None:
    """Read new events and bring Ranger's grants up to date."""
    require_spark()
    from spark_sync.job import run_once

    settings = invocation.settings
    with (
        invocation.messages.status("starting Spark") as shown,
        spark_session(settings.sync) as spark,
    ):
        report = run_once(settings, spark, progress=shown.update)
    if invocation.as_json:
        invocation.print_json(to_json(report))
    else:
        show(invocation, report)
    if report.trouble:
        raise RangerAdminError(f"{report.trouble}; what is left is in the ledger and goes out with the next run")


def show(invocation: Invocation, report: RunReport) -> None:
    """A run for people: what was read, what was granted and revoked, and what waits for what."""
    for source in report.sources:
        rejected = f", {source.rejected} rejected (see the dead letters)" if source.rejected else ""
        invocation.console.print(f"{source.name}: {source.lines} lines read, {source.events} new events{rejected}")
    changes = [("granted", life) for life in report.granted] + [("revoked", life) for life in report.revoked]
    if changes:
        invocation.print_table(
            ["change", "entity", "user", "access", "policy"],
            [
                [change, str(life.entity), life.creator or "", ", ".join(life.accesses), str(life.policy_id)]
                for change, life in changes
            ],
        )
    if report.waiting:
        invocation.print_table(["state", "entity", "creator", "why"], rows(report.waiting))
    written = "nothing new was written to Ranger" if report.wrote_nothing else "Ranger is up to date"
    invocation.console.print(
        f"{written}: {len(report.granted)} granted, {len(report.revoked)} revoked, {report.unchanged} unchanged,"
        f" {report.counts.get(State.BLOCKED, 0)} blocked, {report.counts.get(State.UNCONFIRMED, 0)} unconfirmed"
    )


def to_json(report: RunReport) -> dict[str, object]:
    """A run for programs."""
    return {
        "sources": [
            {"name": source.name, "lines": source.lines, "rejected": source.rejected, "events": source.events}
            for source in report.sources
        ],
        "granted": [as_json(life) for life in report.granted],
        "revoked": [as_json(life) for life in report.revoked],
        "waiting": [as_json(life) for life in report.waiting],
        "unchanged": report.unchanged,
        "counts": {state.value: count for state, count in report.counts.items()},
        "trouble": report.trouble,
    }
