"""`ranger-cdap operations`: the privileges of each CDAP operation, and the differences between two profiles."""

from __future__ import annotations

from dataclasses import asdict

import click

from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.operations_text import OperationText, lines
from ranger_cdap.cli.parameters import ENTITY_TYPE, PROFILE


@click.command(
    cls=Command,
    examples=(
        "ranger-cdap operations --entity dataset",
        "ranger-cdap operations --profile 004 --json",
    ),
)
@click.option("--profile", type=PROFILE, help="A profile; default: the configured one.")
@click.option("--entity", "kind", type=ENTITY_TYPE, help="Only this entity type, with its core policies.")
@pass_invocation
def operations(invocation: Invocation, profile: str | None, kind: str | None) -> None:
    """Show what each CDAP operation needs, what it grants, and the requirement it implements."""
    name = profile if profile is not None else invocation.settings.cdap.profile
    shown = lines(load_profile(name), kind)
    if invocation.as_json:
        invocation.print_json([_document(line) for line in shown])
        return
    rows = [
        [line.operation, line.needs_in_lines, line.given, "\n".join(line.requirements), line.remark] for line in shown
    ]
    invocation.print_table(["operation", "needs", "gives", "requirements", "remark"], rows)


def _document(line: OperationText) -> dict[str, object]:
    """Return the line as a JSON document."""
    document = asdict(line)
    document["any_of"] = document.pop("alternatives")
    return document
