"""`ranger-cdap sync relayout`: move existing grants into the policies of the configured layout."""

from __future__ import annotations

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from spark_sync.cli.lives import as_json, rows
from spark_sync.ledger.life import State
from spark_sync.preflight import check_ledger, check_ranger
from spark_sync.reconcile.relayout import RelayoutReport


@click.command(
    cls=Command,
    examples=("ranger-cdap sync relayout", "ranger-cdap sync relayout --apply"),
    exits={
        ExitCode.OK: "the moves are shown or, with --apply, done",
        ExitCode.LEASE_HELD: MEANINGS[ExitCode.LEASE_HELD],
        ExitCode.INTERRUPTED: "Ctrl-C, at once; the next run, or the command again, continues",
    },
)
@click.option("--apply", "send", is_flag=True, help="Move the grants, and send everything else that is pending.")
@pass_invocation
def relayout(invocation: Invocation, send: bool) -> None:
    """Move existing grants into policies of `sync.layout`; only shown without --apply.

    No decision changes meanwhile: each new policy is written before the former one goes. Policies that were edited or
    adopted, and grants by former settings, stay as they are.
    """
    settings = invocation.settings
    check_ledger(settings)
    check_ranger(settings)
    from spark_sync.reconcile.relayout import relayout as move

    with invocation.messages.status("comparing policies with the layout") as shown:
        report = move(settings, send=send, progress=shown.update)
    if invocation.as_json:
        invocation.print_json(to_json(report))
    else:
        print_relayout(invocation, report, sent=send)
    if report.error:
        raise report.error


def print_relayout(invocation: Invocation, report: RelayoutReport, *, sent: bool) -> None:
    """Print the moves, as they would be made or were."""
    if report.kept:
        invocation.print_table(["kept", "entity", "creator", "why"], rows(report.kept))
    print_line = invocation.console.print
    policies = f"policies: {report.created} created, {report.updated} updated, {report.deleted} deleted"
    if not sent:
        advice = "; `--apply` does it" if report.moves else ""
        print_line(
            f"nothing was sent; grants to move into layout `{report.layout}`: {len(report.moves)} ({policies}){advice}"
        )
        return
    waiting = [outcome.life for outcome in report.outcomes if outcome.life.state not in (State.APPLIED, State.CLOSED)]
    if waiting:
        invocation.print_table(["state", "entity", "creator", "why"], rows(waiting))
    if report.error:
        print_line("Ranger is not up to date; the next run, or this command again, moves the rest")
        return
    print_line(f"grants moved into layout `{report.layout}`: {_moved(report)} ({policies}), {len(report.kept)} kept")


def _moved(report: RelayoutReport) -> int:
    moving = {(life.entity, life.number) for life in report.moves}
    done = (outcome.life for outcome in report.outcomes if outcome.life.state is State.APPLIED)
    return len([life for life in done if (life.entity, life.number) in moving])


def to_json(report: RelayoutReport) -> dict[str, object]:
    """Return the result of a relayout as JSON."""
    return {
        "layout": report.layout,
        "moves": [as_json(life) for life in report.moves],
        "policies": {"create": report.created, "update": report.updated, "delete": report.deleted},
        "kept": [as_json(life) for life in report.kept],
        "sent": [as_json(outcome.life) for outcome in report.outcomes],
        "trouble": str(report.error or ""),
    }
