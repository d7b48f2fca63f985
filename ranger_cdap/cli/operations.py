"""`ranger-cdap operations`: the privileges of each CDAP operation, and the differences between two profiles."""

from __future__ import annotations

from dataclasses import asdict

import click

from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.cli.command import Command, CommandGroup
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.operations_text import OperationText, differences, lines
from ranger_cdap.cli.parameters import ENTITY_TYPE, PROFILE

_NONE = "no such operation"


@click.group(
    cls=CommandGroup,
    invoke_without_command=True,
    examples=("ranger-cdap operations --entity dataset", "ranger-cdap operations --profile 004 --json"),
)
@click.option("--profile", type=PROFILE, help="A profile; default: the configured one.")
@click.option("--entity", "kind", type=ENTITY_TYPE, help="Only this entity type, with its core policies.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "plain"]),
    help="Default: table, or json with --json.",
)
@pass_invocation
@click.pass_context
def operations(
    context: click.Context, invocation: Invocation, profile: str | None, kind: str | None, output_format: str | None
) -> None:
    """Show what each CDAP operation needs, what it grants, and the requirement it implements."""
    if context.invoked_subcommand is not None:
        if profile or kind or output_format:
            raise click.UsageError(f"options come after `{context.invoked_subcommand}`")
        return
    shown = lines(load_profile(profile if profile is not None else invocation.settings.cdap.profile), kind)
    if output_format == "plain":
        for line in shown:
            click.echo("\t".join((line.operation, line.needs, line.given, ",".join(line.requirements), line.remark)))
    elif invocation.as_json:
        invocation.print_json([_document(line) for line in shown])
    else:
        rows = [
            [line.operation, line.needs_in_lines, line.given, "\n".join(line.requirements), line.remark]
            for line in shown
        ]
        invocation.print_table(["operation", "needs", "gives", "requirements", "remark"], rows)


@operations.command(
    "diff",
    cls=Command,
    examples=("ranger-cdap operations diff 000 003",),
    exits={ExitCode.OK: "shown, whether they differ or not"},
)
@click.argument("one", type=PROFILE, metavar="PROFILE")
@click.argument("other", type=PROFILE, metavar="PROFILE")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "plain"]),
    help="Default: table, or json with --json.",
)
@pass_invocation
def diff(invocation: Invocation, one: str, other: str, output_format: str | None) -> None:
    """Show the operations that two profiles check, grant or list differently."""
    found = list(differences(load_profile(one), load_profile(other)))
    if output_format == "plain":
        for name, left, right in found:
            click.echo("\t".join((name, _short(left), _short(right))))
    elif invocation.as_json:
        invocation.print_json(
            [
                {"operation": name, one: left and _document(left), other: right and _document(right)}
                for name, left, right in found
            ]
        )
    else:
        rows = [[name, _cell(left), _cell(right)] for name, left, right in found]
        invocation.print_table(["operation", one, other], rows)


def _document(line: OperationText) -> dict[str, object]:
    """Return the line as a JSON document."""
    document = asdict(line)
    document["any_of"] = document.pop("alternatives")
    return document


def _short(line: OperationText | None) -> str:
    return "; ".join(_summary(line, line.needs)) if line else _NONE


def _cell(line: OperationText | None) -> str:
    return "\n".join(_summary(line, line.needs_in_lines)) if line else _NONE


def _summary(line: OperationText, needs: str) -> list[str]:
    return [text for text in (needs, line.given and f"gives {line.given}", line.listing) if text]
