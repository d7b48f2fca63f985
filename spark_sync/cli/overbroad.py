"""`ranger-cdap overbroad`: wildcards that cover more than CDAP's entities."""

from __future__ import annotations

import time
from pathlib import Path

import click
import msgspec

from ranger_cdap.analysis.overbreadth import MAX_NAMES, Overbreadth, overbreadth
from ranger_cdap.cdap.entity import to_resource
from ranger_cdap.cdap.inventory import read_entities
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.errors import NotReady
from ranger_cdap.questions.display import visible


@click.command(
    "overbroad",
    cls=Command,
    examples=(
        "ranger-cdap overbroad --inventory inventory.jsonl",
        "ranger-cdap overbroad --inventory inventory.jsonl --policies policies.json --most 10",
    ),
    exits={
        ExitCode.OK: "no value is too wide",
        ExitCode.NO: "some value is too wide",
        ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY],
    },
)
@click.option(
    "--inventory",
    "entities",
    type=FILE,
    metavar="FILE",
    required=True,
    help="Inventory (`sync inventory`).",
)
@click.option(
    "--most",
    type=click.IntRange(1),
    default=MAX_NAMES,
    show_default=True,
    metavar="N",
    help="Entities that may be named one by one instead of by a wildcard.",
)
@policy_files
@pass_invocation
@click.pass_context
def overbroad(
    context: click.Context, invocation: Invocation, files: PolicyFiles | None, entities: Path, most: int
) -> None:
    """Show values of policies with wildcards that give access to more names than there are entities, and what would be
    enough: the names themselves, or a longer beginning. A value that covers no entity at all gives access to those to
    come.

    Policies that deny are not shown, because narrowing them could give access. A value without any letter, like `*`, is
    shown only if there is nothing of its type. Types without entities in the inventory are named at the end.
    """
    instance = invocation.settings.cdap.instance
    there = read_entities(entities, instance=instance, now=time.time_ns() // 1_000_000)
    with authorizer_by(invocation, files) as authorizer:
        engine = authorizer.snapshot.engine
    if engine is None:
        raise NotReady("there are no policies to look at")
    found = overbreadth(engine, (to_resource(one, instance) for one in there), max_names=most)
    _show(invocation, found)
    context.exit(ExitCode.NO if found.values else ExitCode.OK)


def _show(invocation: Invocation, found: Overbreadth) -> None:
    if invocation.as_json:
        invocation.print_json(msgspec.to_builtins(found))
        return
    rows = [
        [
            f'{one.policy_id} "{one.policy_name}"' if one.policy_name else str(one.policy_id),
            one.place,
            ", ".join(one.who),
            f"{one.level} {one.value}",
            str(one.entities),
            ", ".join(one.enough) or "nothing: it covers no entity",
        ]
        for one in found.values
    ]
    if rows:
        shown = [[visible(cell, keep="") for cell in row] for row in rows]
        invocation.print_table(["policy", "on", "who", "too wide", "entities", "enough"], shown)
    else:
        invocation.console.print("no value is too wide: every wildcard is as narrow as the entities allow")
    if found.not_judged:
        names = ", ".join(found.not_judged)
        invocation.messages.print(f"note: the inventory has no {names}, so policies on them are not judged")
