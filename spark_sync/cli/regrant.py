"""`ranger-cdap sync regrant`: bring the grants of existing lives in line with changed settings."""

from __future__ import annotations

from typing import Final

import click

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import ENTITY
from spark_sync.cli import planned
from spark_sync.cli.lives_text import as_json, policy_text, rows
from spark_sync.grants.writer import StepOutcome
from spark_sync.ledger.life import State
from spark_sync.preflight import check_ledger
from spark_sync.reconcile.regrant import RegrantReport

_SETTLED: Final = (State.APPLIED, State.KNOWN, State.CLOSED)


@click.command(
    cls=Command,
    grows=True,
    examples=("ranger-cdap sync regrant", "ranger-cdap sync regrant --yes"),
    exits={
        ExitCode.OK: "the changes are shown or, with --yes, sent",
        ExitCode.LEASE_HELD: MEANINGS[ExitCode.LEASE_HELD],
    },
)
@click.option("--yes", is_flag=True, help="Send the changes, and everything else that is pending.")
@click.argument("entities", type=ENTITY, nargs=-1, metavar="[ENTITY]...")
@pass_invocation
def regrant(invocation: Invocation, yes: bool, entities: tuple[EntityId, ...]) -> None:
    """Update grants of ENTITY, or of all entities, that were decided by earlier settings; without --yes only show them.

    Manual overrides, and policies that were edited or deleted manually, are kept.
    """
    settings = check_ledger(invocation.settings)
    from spark_sync.reconcile.regrant import regrant as change

    with invocation.messages.status("comparing grants with the settings") as shown:
        report = change(settings, entities=entities, send=yes, progress=shown.update)
    show_regrant(invocation, report, sent=yes)


def show_regrant(
    invocation: Invocation, report: RegrantReport, *, sent: bool, changing: str = "outdated grants"
) -> None:
    """Print a regrant, or other changes of grants, as text or as JSON; raise what stopped it early.

    Raises:
        RangerAdminError: it stopped early.
    """
    if invocation.as_json:
        invocation.print_json_by_line(to_json(report))
    else:
        print_regrant(invocation, report, sent=sent, changing=changing)
    if report.error:
        raise report.error


def print_regrant(
    invocation: Invocation, report: RegrantReport, *, sent: bool, changing: str = "outdated grants"
) -> None:
    """Print the changes of a regrant, or of other grants, as they would be sent or were."""
    if report.went_back:
        invocation.console.print(report.went_back, style="red")
    invocation.print_first(["kept", "entity", "creator", "why"], rows(report.kept))
    if not sent:
        invocation.print_first(planned.HEAD, planned.rows(report.planned))
        advice = "; `--yes` sends them" if report.planned or report.kept else ""
        invocation.console.print(f"nothing was sent; {changing}: {len(report.planned)}{advice}")
        return
    invocation.print_first(["change", "entity", "user", "access", "policy"], map(_row, report.outcomes))
    waiting = (outcome.life for outcome in report.outcomes if outcome.life.state not in _SETTLED)
    invocation.print_first(["state", "entity", "creator", "why"], rows(waiting))
    changes = [change_of(outcome) for outcome in report.outcomes]
    counted = ", ".join(f"{changes.count(change)} {change}" for change in ("granted", "changed", "revoked"))
    state = "Ranger is not up to date; the next run sends the rest" if report.error else "Ranger is up to date"
    invocation.console.print(f"{state}: {counted}, {len(report.kept)} kept")


def change_of(outcome: StepOutcome) -> str:
    """Return the effect of a step on the grant in one word."""
    if outcome.revoked:
        return "revoked"
    if outcome.life.state is State.APPLIED:
        return "changed" if outcome.step.life.policy_id >= 0 else "granted"
    return outcome.life.state.value


def to_json(report: RegrantReport) -> dict[str, object]:
    """Return the result of a regrant as JSON."""
    return {
        "planned": [planned.to_json(step) for step in report.planned],
        "kept": [as_json(life) for life in report.kept],
        "sent": [as_json(outcome.life) | {"change": change_of(outcome)} for outcome in report.outcomes],
        "went_back": report.went_back,
        "trouble": str(report.error or ""),
    }


def _row(outcome: StepOutcome) -> list[str]:
    after = outcome.step.life if outcome.revoked else outcome.life
    return [change_of(outcome), str(after.entity), after.holder, ", ".join(after.applied), policy_text(after)]
