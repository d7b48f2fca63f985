"""`ranger-cdap sync run`: one run of the job."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.config import Settings
from ranger_cdap.errors import LeaseHeld
from ranger_cdap.telemetry.start import start_telemetry
from spark_sync.cli import planned
from spark_sync.cli.lives_text import as_json, outdated_json, policy_text, print_outdated, rows
from spark_sync.ledger.life import DOUBTED_STATES, State
from spark_sync.preflight import check_run
from spark_sync.report import RunReport
from spark_sync.run_telemetry import record_run
from spark_sync.spark.on_demand import SparkOnDemand
from spark_sync.spark.submission import LOCAL_MASTER, is_submitted

if TYPE_CHECKING:
    from ranger_cdap.telemetry.sdk import Telemetry
    from spark_sync.grants.ranger_names import RangerNames
    from spark_sync.ledger.delta_ledger import DeltaLedger


@click.command(
    cls=Command,
    grows=True,
    runs_on=True,
    examples=(
        "ranger-cdap sync run",
        "ranger-cdap sync run --follow 60",
        "ranger-cdap sync run --master spark://spark.example:7077",
        "ranger-cdap sync run --dry-run",
    ),
    exits={
        ExitCode.OK: "Ranger is up to date; with --follow: SIGTERM received, and the current run finished",
        ExitCode.ERROR: "something failed; pending grants stay in the ledger and are sent by the next run",
        ExitCode.NOT_READY: "Ranger Admin cannot be reached; pending grants stay in the ledger, as above",
        ExitCode.LEASE_HELD: MEANINGS[ExitCode.LEASE_HELD],
        ExitCode.INTERRUPTED: "Ctrl-C, at once, also during a run; the next run resumes",
        ExitCode.TERMINATED: "SIGTERM without --follow, as Ctrl-C",
    },
)
@click.option(
    "--follow",
    "interval",
    type=click.FloatRange(min=0.1),
    is_flag=False,
    flag_value=5.0,
    metavar="[SECONDS]",
    help="Run repeatedly until SIGTERM or Ctrl-C: when events arrive, and after so many seconds without any, 5 if none"
    " are given.",
)
@click.option(
    "--master",
    default=LOCAL_MASTER,
    show_default=True,
    help="Where Spark runs if there are many events: a cluster, with the settings of `spark-defaults.conf`.",
)
@click.option("--dry-run", is_flag=True, help="Read new events into the ledger, but only show the changes for Ranger.")
@pass_invocation
def run(invocation: Invocation, interval: float | None, master: str, dry_run: bool) -> None:
    """Read new events once and update the grants in Ranger.

    With --follow --json it prints a line of JSON for each run.
    """
    if interval is not None and dry_run:
        raise click.UsageError("--follow and --dry-run exclude each other")
    if master != LOCAL_MASTER and is_submitted():
        raise click.UsageError("under spark-submit its own --master applies")
    settings = invocation.settings
    invocation.start_log("info" if interval is not None else "warning")
    # A run that follows begins after another one that holds the lease, as one that was killed.
    with suppress(*([LeaseHeld] if interval is not None else [])):
        check_run(settings, dry=dry_run)
    if not settings.sync.sources:
        invocation.messages.print("note: no event is read, because there is no source: `[[sync.sources]]`")
    telemetry = start_telemetry("ranger-cdap-sync")
    try:
        if interval is not None:
            _follow(invocation, settings, telemetry, interval, master)
            return
        with (
            invocation.messages.status("opening the ledger") as shown,
            SparkOnDemand(settings.sync, master=master, starting=lambda: shown.update("starting Spark")) as spark,
        ):
            report = _one(settings, spark, shown.update, telemetry, dry=dry_run)
        print_result(invocation, report, dry=dry_run)
    finally:
        if telemetry is not None:
            telemetry.close()


def _follow(
    invocation: Invocation, settings: Settings, telemetry: Telemetry | None, interval: float, master: str
) -> None:
    from spark_sync.follow import follow, until_terminated
    from spark_sync.grants.ranger_names import RangerNames
    from spark_sync.ledger.delta_ledger import DeltaLedger
    from spark_sync.news import News
    from spark_sync.notify import NotifyLog

    notify_log = NotifyLog()
    with until_terminated() as ended, SparkOnDemand(settings.sync, master=master) as spark:
        ledger = DeltaLedger(settings.sync.state_dir, settings.cdap.instance, spark, few=spark.few.events)
        names = RangerNames(settings)
        news = News(settings.sync, ledger)

        def run_and_note() -> RunReport:
            news.run_begins()
            report = _one(settings, spark, lambda _: None, telemetry, ledger=ledger, names=names)
            news.run_ended(report)
            if report.notified:
                notify_log.add(report.notified)
            spark.release_idle()
            return report

        invocation.messages.print(f"a run when events arrive, and every {interval:g} s, until Ctrl-C or SIGTERM")
        follow(
            run_and_note,
            interval=interval,
            ended=ended,
            on_report=lambda report: _print_changes(invocation, replace(report, notified=())),
            has_news=news,
        )


def print_result(invocation: Invocation, report: RunReport, *, dry: bool = False) -> None:
    """Print the result of a run.

    Raises:
        RangerAdminError: the run stopped early.
    """
    if invocation.as_json:
        invocation.print_json_by_line(to_json(report))
    elif dry:
        print_planned(invocation, report)
    else:
        print_report(invocation, report)
    if report.error:
        raise report.error


def _one(
    settings: Settings,
    spark: SparkOnDemand,
    progress: Callable[[str], None],
    telemetry: Telemetry | None,
    *,
    dry: bool = False,
    ledger: DeltaLedger | None = None,
    names: RangerNames | None = None,
) -> RunReport:
    from spark_sync.job import run_once

    began, run_id = time.time(), uuid.uuid4().hex
    report = None
    try:
        report = run_once(
            settings,
            spark,
            now=round(began * 1000),
            progress=progress,
            dry=dry,
            few=spark.few,
            ledger=ledger,
            names=names,
        )
        report = replace(report, run_id=run_id)
    finally:
        if telemetry is not None:
            record_run(telemetry, run_id, round(began * 1e9), report)
    if settings.sync.metrics_file and not dry:
        from spark_sync.metrics_file import write_metrics

        write_metrics(settings.sync.metrics_file, report, began=began, ended=time.time())
    return report


def _print_changes(invocation: Invocation, report: RunReport) -> None:
    """Print what one run of many changed or rejected; as JSON, one object per line."""
    if invocation.as_json:
        invocation.console.print(json.dumps(to_json(report), default=list))
    elif report.granted or report.revoked or report.went_back or any(source.rejected for source in report.sources):
        print_report(invocation, report)


def print_planned(invocation: Invocation, report: RunReport) -> None:
    """Print a dry run: what was read, and what would be sent."""
    _print_sources(invocation, report)
    steps = invocation.print_first(planned.HEAD, planned.rows(report.planned))
    print_outdated(invocation, report.outdated)
    invocation.console.print(
        f"dry run by the ledger alone: nothing was sent to Ranger; the next run sends {steps} steps"
    )


def _print_sources(invocation: Invocation, report: RunReport) -> None:
    for source in report.sources:
        rejected = f", {source.rejected} rejected (see the dead letters)" if source.rejected else ""
        invocation.console.print(f"{source.name}: {source.lines} lines read, {source.events} new events{rejected}")


def print_report(invocation: Invocation, report: RunReport) -> None:
    """Print a run: what was read, granted and revoked, and what waits and why."""
    _print_sources(invocation, report)
    if report.went_back:
        invocation.console.print(report.went_back, style="red")
    changes = (("granted", report.granted), ("revoked", report.revoked))
    invocation.print_first(
        ["change", "entity", "user", "access", "policy"],
        (
            [change, str(life.entity), life.holder, ", ".join(life.applied or life.accesses), policy_text(life)]
            for change, lives in changes
            for life in lives
        ),
    )
    invocation.print_first(["state", "entity", "creator", "why"], rows(report.waiting))
    for source in report.silent:
        invocation.console.print(f"silent: the decision service of source `{source}`, so the hold-back applies")
    for notified in report.notified:
        if notified.problem:
            invocation.messages.print(f"warning: {notified}")
    print_outdated(invocation, report.outdated)
    if report.error:
        invocation.console.print(
            f"Ranger is not up to date: {len(report.granted)} granted, {len(report.revoked)} revoked; the events"
            f" read are in the ledger, and the next run sends the pending changes ({report.pending})"
        )
        return
    written = "nothing new was written to Ranger" if report.wrote_nothing else "Ranger is up to date"
    shown = [f"{report.counts.get(state, 0)} {state.value}" for state in (State.BLOCKED, State.UNCONFIRMED)]
    shown += [f"{report.counts[state]} {state.value}" for state in DOUBTED_STATES if report.counts.get(state)]
    invocation.console.print(
        f"{written}: {len(report.granted)} granted, {len(report.revoked)} revoked, {report.unchanged} unchanged,"
        f" {', '.join(shown)}"
    )


def to_json(report: RunReport) -> dict[str, object]:
    """Return a run as JSON, with iterators for what may be long."""
    return {
        "run_id": report.run_id,
        "sources": [
            {"name": source.name, "lines": source.lines, "rejected": source.rejected, "events": source.events}
            for source in report.sources
        ],
        "granted": map(as_json, report.granted),
        "revoked": map(as_json, report.revoked),
        "waiting": map(as_json, report.waiting),
        "planned": map(planned.to_json, report.planned),
        "silent": list(report.silent),
        "notified": [{"url": each.url, "problem": str(each) if each.problem else ""} for each in report.notified],
        "unchanged": report.unchanged,
        "went_back": report.went_back,
        "counts": {state.value: count for state, count in report.counts.items()},
        "outdated": outdated_json(report.outdated),
        "trouble": report.trouble,
    }
