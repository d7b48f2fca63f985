"""`ranger-cdap sync status`: the contents of the ledger and the lag of the job."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from spark_sync.cli.lives_text import as_json, outdated_json, print_outdated, rows
from spark_sync.ledger.life import UNDECIDED_STATES, State
from spark_sync.preflight import check_reading
from spark_sync.reconcile.overrides import candidates
from spark_sync.status import WAITING, StatusReport


@click.command(cls=Command, grows=True, examples=("ranger-cdap sync status", "ranger-cdap sync status --json"))
@pass_invocation
def status(invocation: Invocation) -> None:
    """Show the number of grants, the lag of the job, and what is waiting and why."""
    settings = check_reading(invocation.settings)
    invocation.note_missing_file()
    from spark_sync.status import status as read_status

    with invocation.messages.status("reading the ledger"):
        report = read_status(settings, now=time.time_ns() // 1_000_000)
    if invocation.as_json:
        invocation.print_json_by_line(to_json(report))
    else:
        print_status(invocation, report)


def print_status(invocation: Invocation, report: StatusReport) -> None:
    """Print the state of the job."""
    print_line = invocation.console.print
    print_line(f"baseline: {_when(report.baseline) or 'none; ambiguous events stay unconfirmed and grant nothing'}")
    if report.journal_lost:
        print_line(
            "the baseline no longer counts: a check journal was replaced since; take a new inventory (`sync baseline`)"
        )
    if report.newest is None or report.lag is None:
        print_line("decided: no events yet")
    else:
        print_line(f"decided: events until {_when(report.newest)}, {_ago(report.lag)} ago")
    if report.held_back:
        print_line(f"held back: {report.held_back} events, which the next runs decide")
    if report.ahead:
        print_line(f"in the future: {report.ahead} events; a clock was or is ahead", style="red")
    for source in report.clocks_ahead:
        print_line(
            f"clock ahead: that of the decision service of source `{source}`, by more than 15 minutes; its time decides"
            " nothing, and the hold-back applies (`ranger-cdap doctor`)",
            style="red",
        )
    for source in sorted({*report.silent} - {*report.clocks_ahead}):
        print_line(f"silent: the decision service of source `{source}`; its events are decided after the hold-back")
    if report.observation.went_back:
        print_line(f"{_when(report.observation.noticed)}: {report.observation.went_back}")
    if oldest := report.oldest_pending:
        waited = _ago(report.now - oldest.begun.time)
        print_line(f"oldest pending: {oldest.entity} for `{oldest.creator}`, for {waited}")
    print_outdated(invocation, report.outdated)
    if report.dead_letters:
        print_line(
            f"dead letters: {report.dead_letters} lines were rejected; see dead-letters.jsonl in the state directory."
            " Once a setting is corrected, delete the directory `files` there, while no run is in progress: the next"
            " run reads all lines again"
        )
    invocation.print_table(["state", "lives"], [[state.value, str(report.counts.get(state, 0))] for state in State])
    _print_doubts(invocation, report)
    waiting = report.waiting_in(State.CLOSED, *(state for state in WAITING if state not in UNDECIDED_STATES))
    invocation.print_first(["state", "entity", "creator", "why"], rows(waiting))


def _print_doubts(invocation: Invocation, report: StatusReport) -> None:
    """Print the lives without a grant because their creator, or their existence, is undecidable."""
    for state, who in (
        (State.CONTESTED, "candidates"),
        (State.SUSPENDED, "creator"),
        (State.UNCONFIRMED, "candidates"),
    ):
        if lives := report.waiting_in(state):
            named = [life.creator or "" if who == "creator" else ", ".join(candidates(life)) for life in lives]
            found = zip(lives, named, strict=True)
            told = ([str(life.entity), name or "unknown", life.reason] for life, name in found)
            invocation.print_first([state.value, who, "why"], told, state.value)
            if state is State.CONTESTED:
                invocation.console.print("to settle one: `ranger-cdap sync assign ENTITY USER --reason TEXT`")


def to_json(report: StatusReport) -> dict[str, object]:
    """Return the state of the job as JSON; `lag` is in seconds."""
    oldest = report.oldest_pending
    return {
        "baseline": _when(report.baseline),
        "journal_lost": report.journal_lost,
        "decided_until": _when(report.newest),
        "lag": None if report.lag is None else report.lag / 1000,
        "held_back": report.held_back,
        "counts": {state.value: report.counts.get(state, 0) for state in State},
        "oldest_pending": as_json(oldest) | {"begun": _when(oldest.begun.time)} if oldest else None,
        "waiting": [as_json(life) for life in report.waiting],
        "ahead": report.ahead,
        "clocks_ahead": list(report.clocks_ahead),
        "silent": list(report.silent),
        "dead_letters": report.dead_letters,
        "outdated": outdated_json(report.outdated),
        "went_back": {"noticed": _when(report.observation.noticed), "what": report.observation.went_back}
        if report.observation.went_back
        else None,
    }


def _when(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def _ago(milliseconds: int) -> str:
    return str(timedelta(seconds=max(0, milliseconds) // 1000))
