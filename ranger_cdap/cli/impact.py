"""`ranger-cdap policies impact`: the access that a change of policies adds and removes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import click

from ranger_cdap.analysis.impact import Impact, impact
from ranger_cdap.analysis.report import impact_rows
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.export import account
from ranger_cdap.cli.files import usable, write_file
from ranger_cdap.cli.impact_formats import ImpactReport, markdown, on_one_line, page, table
from ranger_cdap.cli.impact_sources import (
    HistorySource,
    PolicySource,
    PolicySourceParameter,
    RangerSource,
    read_sources,
)
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.cli.policy_files import WITHOUT_TAGS
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.questions.analysis_documents import impact_document
from ranger_cdap.questions.impact_question import compared_accesses, compared_engine, refuse_unlike
from ranger_cdap.questions.impact_text import request_text

_SOURCE: Final = PolicySourceParameter()
FORMATS: Final[Mapping[str, Callable[[ImpactReport], str]]] = {
    "table": table,
    "json": lambda report: json.dumps(impact_document(report.service, report.rows), indent=2, default=str),
    "markdown": markdown,
    "html": page,
}


@click.command(
    "impact",
    cls=Command,
    examples=(
        "ranger-cdap policies impact old.json new.json",
        "ranger-cdap policies impact --since 7d",
        "ranger-cdap policies impact ranger: policies --fail-on gained",
        "ranger-cdap policies impact old.json new.json --format markdown --out comment.md",
    ),
    exits={
        ExitCode.OK: "shown; nothing that `--fail-on` forbids",
        ExitCode.ERROR: "an engine contradicts the analysis, which is a fault of the analysis",
        ExitCode.ACCESS_CHANGED: MEANINGS[ExitCode.ACCESS_CHANGED],
    },
)
@account
@click.argument("sets", type=_SOURCE, nargs=-1, metavar="OLD NEW")
@click.option("--since", metavar="TIME", help="In place of OLD: what this host used then. NEW is `ranger:` by default.")
@click.option("--roles", type=FILE, metavar="FILE", help="A role download, for both sets.")
@click.option("--tags", type=FILE, metavar="FILE", help="A tag download, for both sets.")
@click.option("--access", "accesses", metavar="TYPE", multiple=True, help="Only this access type. Repeatable.")
@click.option("--fail-on", type=click.Choice(["gained", "lost", "any"]), help="Exit with 6 if there is such a row.")
@click.option(
    "--format", "output_format", type=click.Choice(list(FORMATS)), help="Default: table, or json with --json."
)
@click.option("--out", type=FILE, metavar="FILE", help="Output file; default: standard output.")
@pass_invocation
@click.pass_context
def impact_command(
    context: click.Context,
    invocation: Invocation,
    ranger_user: str,
    sets: tuple[PolicySource, ...],
    since: str | None,
    roles: Path | None,
    tags: Path | None,
    accesses: tuple[str, ...],
    fail_on: str | None,
    output_format: str | None,
    out: Path | None,
) -> None:
    """Show who gains and who loses which access where, if the policies of OLD become those of NEW.

    OLD and NEW are each a file or directory of policies, `ranger:` for what Ranger Admin has now, or `history:7d` for
    what this host used 7 days ago, with the roles and tags of then (`plugin.history_dir`; a date or a time in UTC will
    do as well). Each row has a request as evidence, which both
    sets have decided. A row that may not be so says what could not be decided. docs/explanation/access-analysis.md
    explains the rows.
    """
    old, new = _pair(sets, since)
    read = read_sources(invocation, ranger_user, (old, new), roles, tags)
    before, after = (_engine(invocation, *one) for one in zip((old, new), read, strict=True))
    refuse_unlike(f"those of `{old}`", before, f"those of `{new}`", after)
    compared = compared_accesses(accesses, before, after)
    found = impact(before, after, accesses=compared or None)
    report = ImpactReport(after.service_name, old, new, impact_rows(found))
    text = FORMATS[output_format or ("json" if invocation.as_json else "table")](report)
    if out is not None:
        write_file(out, text.encode("utf-8") + b"\n")
    else:
        invocation.has_answered = True
        click.echo(text)
    context.exit(_exit_code(invocation, found, report, fail_on))


def _pair(sets: tuple[PolicySource, ...], since: str | None) -> tuple[PolicySource, PolicySource]:
    if since is not None:
        sets = (HistorySource(since), *(sets or (RangerSource(),)))
    if len(sets) != 2:
        wanted = "`--since` takes the place of OLD: give NEW alone" if since is not None else "give OLD and NEW"
        raise InvalidInput(f"an impact compares two sets of policies; {wanted}")
    return sets[0], sets[1]


def _exit_code(invocation: Invocation, found: Impact, report: ImpactReport, fail_on: str | None) -> ExitCode:
    for witness in found.contradictions:
        shown = on_one_line(request_text(witness.request))
        invocation.messages.print(f"error: the engines contradict the analysis on {shown}")
    if found.contradictions:
        return ExitCode.ERROR
    forbidden = any(fail_on in ("any", "gained" if row.gained else "lost") for row in report.rows)
    return ExitCode.ACCESS_CHANGED if forbidden else ExitCode.OK


def _engine(invocation: Invocation, source: PolicySource, read: Documents) -> PolicyEngine:
    with usable(Path(str(source))):
        engine = compared_engine(read, invocation.settings.ranger.service)
    if read.tags == b"{}":
        invocation.messages.print(WITHOUT_TAGS)
    for problem in engine.problems:
        invocation.messages.print(f"warning: `{source}`: {problem}")
    return engine
