"""`ranger-cdap sync reconcile`: find and settle differences between ledger, inventory and Ranger."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import click

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.inventory import read_inventory
from ranger_cdap.cdap.named_entities import allows
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import ENTITY, FILE
from ranger_cdap.errors import InvalidInput
from spark_sync.cli.lives_text import changes_json, terms_text
from spark_sync.preflight import check_ledger
from spark_sync.reconcile.drift import Drift, DriftFinding
from spark_sync.reconcile.repair import RepairAction, actions

NEXT_RUN: Final = "Ranger is unchanged; the next `ranger-cdap sync run` sends the resulting changes"

_SENTENCES: Final = {
    Drift.UNRECORDED: "{policy} grants {users} access that the ledger does not record",
    Drift.STALE: "{policy} still grants {users} access, but its life {number} has ended",
    Drift.ENTITY_DELETED: "the grant of {creator} is {state}, but the inventory does not have the entity",
    Drift.MISSING: "{policy} of {creator} was deleted manually",
    Drift.EDITED: "{policy} no longer gives {creator} their right, which a person took",
    Drift.OUTDATED: "the grant of {creator} is by former settings ({terms})",
    Drift.UNKNOWN: "exists, but the ledger does not know it: anyone who touches it may become its creator",
    Drift.WRONG_ZONE: "{policy} of {creator} has no effect {where}: the entity is in another security zone",
    Drift.NO_SUCH_ENTITY: "does not exist, but {policy} gives rights on it, and on the next of that name, to {others}",
}
_COMMANDS: Final = {Drift.WRONG_ZONE: "sync rezone", Drift.OUTDATED: "sync regrant", Drift.UNKNOWN: "sync baseline"}


@click.command(
    cls=Command,
    grows=True,
    examples=(
        "ranger-cdap sync reconcile --inventory inventory.jsonl",
        "ranger-cdap sync reconcile --release dataset:ns1.purchases",
    ),
    exits={
        ExitCode.OK: "no drift, or all of it resolved",
        ExitCode.NO: "drift",
        ExitCode.LEASE_HELD: MEANINGS[ExitCode.LEASE_HELD],
    },
)
@click.option(
    "--inventory",
    "path",
    type=FILE,
    metavar="FILE",
    help="Inventory (`sync inventory`); without it, deleted and unknown entities are not found.",
)
@click.option("--adopt", is_flag=True, help="Adopt the existing Ranger policies.")
@click.option("--release", is_flag=True, help="Leave the Ranger policies to manual administration.")
@click.option("--revoke", is_flag=True, help="Revoke Ranger policies of deleted entities and ended lives.")
@click.argument("entities", type=ENTITY, nargs=-1, metavar="[ENTITY]...")
@pass_invocation
@click.pass_context
def reconcile(
    context: click.Context,
    invocation: Invocation,
    path: Path | None,
    adopt: bool,
    release: bool,
    revoke: bool,
    entities: tuple[EntityId, ...],
) -> None:
    """Compare ledger, inventory and Ranger; with an action, resolve the matching drift of ENTITY, or of all entities.

    Only the ledger is changed; the next run does the rest.
    """
    chosen = [action for action, wanted in zip(RepairAction, (adopt, release, revoke), strict=True) if wanted]
    if len(chosen) > 1:
        raise InvalidInput("`--adopt`, `--release` and `--revoke` contradict each other; give one of them")
    settings = check_ledger(invocation.settings)
    from spark_sync.reconcile.reconcile import reconcile as compare

    now = time.time_ns() // 1_000_000
    inventory = read_inventory(path, instance=settings.cdap.instance, now=now) if path else None
    with invocation.messages.status("comparing ledger and Ranger"):
        report = compare(settings, inventory=inventory, action=chosen[0] if chosen else None, entities=entities)
    if invocation.as_json:
        found, done = ([to_json(finding) for finding in several] for several in (report.left, report.settled))
        invocation.print_json_by_line({"drift": found, "settled": done, "lives": changes_json(report.changes)})
    else:
        print_comparison(invocation, report.left, report.settled, chosen[0] if chosen else None)
    context.exit(ExitCode.NO if report.left else ExitCode.OK)


def print_comparison(
    invocation: Invocation,
    left: tuple[DriftFinding, ...],
    settled: tuple[DriftFinding, ...],
    action: RepairAction | None,
) -> None:
    """Print the comparison."""
    if settled:
        rows = [[finding.drift.value, str(finding.entity), sentence(finding)] for finding in settled]
        invocation.print_first(["settled", "entity", "what was found"], rows)
        invocation.console.print(f"settled by --{action}: {len(settled)}. {NEXT_RUN}")
    if left:
        invocation.print_first(
            ["drift", "entity", "what", "settled by"],
            [[finding.drift.value, str(finding.entity), sentence(finding), remedy(finding)] for finding in left],
        )
    elif not settled:
        invocation.console.print("no drift: ledger and Ranger agree")


def sentence(finding: DriftFinding) -> str:
    """Return the finding in a few words."""
    life, policy = finding.life, finding.policy
    named = {
        "policy": f"policy {policy.id}" if policy else f"policy {life.policy_id}" if life else "no policy",
        "users": ", ".join(f"`{user}`" for user in finding.users) or "no user by name",
        "number": finding.number,
        "creator": f"`{life.creator if life else ''}`",
        "state": life.state if life else "",
        "terms": terms_text(life.terms if life else None),
        "where": f"in zone {policy.zone_name}" if policy and policy.zone_name else "outside of zones",
        "others": ", ".join(allows(policy)) if policy else "",
    }
    return _SENTENCES[finding.drift].format_map(named)


def remedy(finding: DriftFinding) -> str:
    """Return the options that settle a finding."""
    if fitting := actions(finding):
        return ", ".join(f"--{action}" for action in fitting)
    return _COMMANDS.get(finding.drift, "a change of the policy in Ranger")


def to_json(finding: DriftFinding) -> dict[str, object]:
    """Return a finding as JSON."""
    return {
        "kind": finding.drift.value,
        "entity": str(finding.entity),
        "life": finding.number or None,
        "state": finding.life.state.value if finding.life else None,
        "creator": finding.life.creator if finding.life else None,
        "policy_id": finding.policy.id if finding.policy else None,
        "what": sentence(finding),
        "actions": [action.value for action in actions(finding)],
    }
