"""`ranger-cdap sync status`: what the ledger holds."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from spark_sync.cli.lives import as_json, rows
from spark_sync.life import State
from spark_sync.preflight import check_reading
from spark_sync.session import spark_session
from spark_sync.status import StatusReport


@click.command(cls=Command, examples=("ranger-cdap sync status", "ranger-cdap sync status --json"))
@pass_invocation
def status(invocation: Invocation) -> None:
    """Show how many grants stand, how far behind the job is, and what waits for what."""
    settings = invocation.settings
    check_reading(settings)
    from spark_sync.status import status as read_status

    with invocation.messages.status("reading the ledger"), spark_session(settings.sync) as spark:
        report = read_status(settings, spark, now=time.time_ns() // 1_000_000)
    if invocation.as_json:
        invocation.print_json(to_json(report))
    else:
        show(invocation, report)


def show(invocation: Invocation, report: StatusReport) -> None:
    """The state of the job for people."""
    say = invocation.console.print
    say(f"baseline: {_when(report.baseline) or 'none; ambiguous events stay unconfirmed and grant nothing'}")
    if report.newest is None or report.lag is None:
        say("decided: no events yet")
    else:
        say(f"decided: events until {_when(report.newest)}, {_ago(report.lag)} ago")
    if report.held_back:
        say(f"held back: {report.held_back} events, which the next runs decide")
    if oldest := report.oldest_pending:
        waited = _ago(report.now - oldest.begun.time)
        say(f"oldest pending: {oldest.entity} for `{oldest.creator}`, for {waited}")
    if report.dead_letters:
        say(f"dead letters: {report.dead_letters} lines were rejected; see dead-letters.jsonl in the state directory")
    invocation.print_table(["state", "lives"], [[state.value, str(report.counts.get(state, 0))] for state in State])
    if report.waiting:
        invocation.print_table(["state", "entity", "creator", "why"], rows(report.waiting))
    if report.conflicts:
        conflicts = [[str(life.entity), life.creator or "", life.conflict] for life in report.conflicts]
        invocation.print_table(["conflict about", "creator", "what was told too late"], conflicts)


def to_json(report: StatusReport) -> dict[str, object]:
    """The state of the job for programs; `lag` is in seconds."""
    oldest = report.oldest_pending
    return {
        "baseline": _when(report.baseline),
        "decided_until": _when(report.newest),
        "lag": None if report.lag is None else report.lag / 1000,
        "held_back": report.held_back,
        "counts": {state.value: report.counts.get(state, 0) for state in State},
        "oldest_pending": as_json(oldest) | {"begun": _when(oldest.begun.time)} if oldest else None,
        "waiting": [as_json(life) for life in report.waiting],
        "conflicts": [as_json(life) | {"conflict": life.conflict} for life in report.conflicts],
        "dead_letters": report.dead_letters,
    }


def _when(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def _ago(milliseconds: int) -> str:
    return str(timedelta(seconds=max(0, milliseconds) // 1000))
