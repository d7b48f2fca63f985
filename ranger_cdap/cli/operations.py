"""`ranger-cdap operations`: the privileges of each CDAP operation, and the differences between two profiles."""

from __future__ import annotations

from dataclasses import asdict

import click

from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.operations_text import OperationText, differences, lines
from ranger_cdap.cli.parameters import ENTITY_TYPE, PROFILE

_NONE = "no such operation"


@click.command(
    cls=Command,
    examples=(
        "ranger-cdap operations --entity dataset",
        "ranger-cdap operations --profile 004 --json",
        "ranger-cdap operations --profile 000 --against 003",
    ),
)
@click.option("--profile", type=PROFILE, help="A profile; default: the configured one.")
@click.option("--entity", "kind", type=ENTITY_TYPE, help="Only this entity type, with its core policies.")
@click.option("--against", type=PROFILE, help="Only the operations that this other profile has differently.")
@pass_invocation
def operations(invocation: Invocation, profile: str | None, kind: str | None, against: str | None) -> None:
    """Show what each CDAP operation needs, what it grants, and the requirement it implements.

    With --against: the operations that two profiles check, grant or list differently.
    """
    name = profile if profile is not None else invocation.settings.cdap.profile
    if against is not None:
        _show_differences(invocation, name, against, kind)
        return
    shown = lines(load_profile(name), kind)
    if invocation.as_json:
        invocation.print_json([_document(line) for line in shown])
        return
    rows = [
        [line.operation, line.needs_in_lines, line.given, "\n".join(line.requirements), line.remark] for line in shown
    ]
    invocation.print_table(["operation", "needs", "gives", "requirements", "remark"], rows)


def _show_differences(invocation: Invocation, one: str, other: str, kind: str | None) -> None:
    found = [
        (name, left, right)
        for name, left, right in differences(load_profile(one), load_profile(other))
        if kind is None or name.partition(".")[0] == kind
    ]
    if invocation.as_json:
        invocation.print_json(
            [
                {"operation": name, one: left and _document(left), other: right and _document(right)}
                for name, left, right in found
            ]
        )
        return
    rows = [[name, _cell(left), _cell(right)] for name, left, right in found]
    invocation.print_table(["operation", one, other], rows)


def _document(line: OperationText) -> dict[str, object]:
    """Return the line as a JSON document."""
    document = asdict(line)
    document["any_of"] = document.pop("alternatives")
    return document


def _cell(line: OperationText | None) -> str:
    if line is None:
        return _NONE
    return "\n".join(filter(None, (line.needs_in_lines, line.given and f"gives {line.given}", line.listing)))
