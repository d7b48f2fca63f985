"""`ranger-cdap policies diff`: the access that a change of policies adds and removes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import click
from msgspec import to_builtins

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.files import usable, write_file
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.cli.policy_files import RANGER, WHICH, PolicyFiles, completed, warn_of_tags
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.refresh.documents import Documents
from ranger_cdap.tools.analysis.access_row import AccessRow
from ranger_cdap.tools.analysis.example_request import ExampleRequest
from ranger_cdap.tools.analysis.impact import impact
from ranger_cdap.tools.analysis.impact_rows import impact_rows
from ranger_cdap.tools.analysis.row_text import Spelling
from ranger_cdap.tools.cli.audit_report import RECORDS, audit_lines, known_groups, require_uses
from ranger_cdap.tools.cli.diff_formats import DiffReport, markdown, on_one_line, page, table
from ranger_cdap.tools.insights.facts import Period, read_facts
from ranger_cdap.tools.insights.replay import Replayer, changed_rows
from ranger_cdap.tools.questions.entity_spelling import entity_spelling
from ranger_cdap.tools.questions.impact_question import compared_accesses, compared_engine, refuse_unlike

FORMATS: Final[Mapping[str, Callable[[DiffReport], str]]] = {
    "table": table,
    "json": lambda report: json.dumps(
        {"service": report.service, **{title.lower(): to_builtins(rows) for title, rows in report.sections.items()}},
        indent=2,
    ),
    "markdown": markdown,
    "html": page,
}


@click.command(
    "diff",
    cls=Command,
    examples=(
        "ranger-cdap policies diff old.json new.json",
        "ranger-cdap policies diff history:7d ranger:",
        "ranger-cdap policies diff ranger: policies --fail-on gained",
        "ranger-cdap policies diff ranger: policies --replay /var/log/ranger-cdap/audit",
        "ranger-cdap policies diff old.json new.json --format markdown --out comment.md",
    ),
    exits={
        ExitCode.OK: "shown; nothing that `--fail-on` forbids",
        ExitCode.ERROR: "an engine contradicts the analysis, which is a fault of the analysis",
        ExitCode.ACCESS_CHANGED: MEANINGS[ExitCode.ACCESS_CHANGED],
    },
)
@click.argument("old", type=WHICH)
@click.argument("new", type=WHICH)
@click.option(
    "--replay",
    type=RECORDS,
    metavar="RECORDS",
    multiple=True,
    help="Only accesses of these audit records, which OLD and NEW decide again. Repeatable.",
)
@click.option("--access", "accesses", metavar="TYPE", multiple=True, help="Only this access type. Repeatable.")
@click.option("--fail-on", type=click.Choice(["gained", "lost", "any"]), help="Exit with 6 if there is such a row.")
@click.option(
    "--format", "output_format", type=click.Choice(list(FORMATS)), help="Default: table, or json with --json."
)
@click.option("--out", type=FILE, metavar="FILE", help="Output file; default: standard output.")
@pass_invocation
@click.pass_context
def diff_command(
    context: click.Context,
    invocation: Invocation,
    old: PolicyFiles,
    new: PolicyFiles,
    replay: tuple[Path, ...],
    accesses: tuple[str, ...],
    fail_on: str | None,
    output_format: str | None,
    out: Path | None,
) -> None:
    """Show who gains and who loses which access where, if the policies of OLD become those of NEW.

    OLD and NEW are each a FILE or DIR of policies, `ranger:` for what Ranger Admin has now, `history:7d` for what this
    host used 7 days ago (`plugin.history_dir`; a date or a time in UTC will do as well), or `cache:` for what it has
    cached. Each row has a request as evidence, which both sets have decided. A row that may not be so says what could
    not be decided. docs/explanation/access-analysis.md explains the rows.
    """
    if invocation.as_json and output_format not in (None, "json"):
        raise InvalidInput(f"`--json` and `--format {output_format}` exclude each other")
    read = _read(invocation, old, new)
    before, after = (_engine(invocation, *one) for one in zip((old, new), read, strict=True))
    refuse_unlike(f"those of `{old}`", before, f"those of `{new}`", after)
    compared = compared_accesses(accesses, before, after)
    spelling = entity_spelling(invocation.settings.cdap.instance)
    contradictions: list[ExampleRequest] = []
    if replay:
        rows = _replayed(invocation, replay, before, after, known_groups(read[1]), spelling)
        rows = [row for row in rows if not compared or set(row.accesses) & set(compared)]
    else:
        found = impact(before, after, accesses=compared or None)
        rows = impact_rows(found, spelling)
        contradictions = [ExampleRequest.of(one, spelling) for one in found.contradictions]
    report = DiffReport(after.service_name, str(old), str(new), rows)
    text = FORMATS[output_format or ("json" if invocation.as_json else "table")](report)
    if out is not None:
        write_file(out, text.encode("utf-8") + b"\n")
    else:
        invocation.has_answered = True
        click.echo(text)
    context.exit(_exit_code(invocation, contradictions, report, fail_on))


def _replayed(
    invocation: Invocation,
    records: Sequence[Path],
    before: PolicyEngine,
    after: PolicyEngine,
    groups: Mapping[str, frozenset[str]],
    spelling: Spelling,
) -> list[AccessRow]:
    period = Period(after.service_name, 0, time.time_ns() // 1_000_000)
    lines = audit_lines(invocation, records)
    facts = read_facts(lines, period, Replayer(after, groups).decide, Replayer(before, groups).decide)
    require_uses(invocation, facts, period)
    return changed_rows(facts, after, groups, spelling)


def _exit_code(
    invocation: Invocation, contradictions: Sequence[ExampleRequest], report: DiffReport, fail_on: str | None
) -> ExitCode:
    for one in contradictions:
        invocation.messages.print(f"error: the engines contradict the analysis on {on_one_line(str(one))}")
    if contradictions:
        return ExitCode.ERROR
    forbidden = any(fail_on in ("any", "gained" if row.gained else "lost") for row in report.rows)
    return ExitCode.ACCESS_CHANGED if forbidden else ExitCode.OK


def _engine(invocation: Invocation, source: PolicyFiles, read: Documents) -> PolicyEngine:
    with usable(Path(str(source))):
        engine = compared_engine(read, invocation.settings.ranger.service)
    warn_of_tags(invocation, read)
    invocation.warn_of(f"`{source}`: {problem}" for problem in engine.problems)
    return engine


def _read(invocation: Invocation, old: PolicyFiles, new: PolicyFiles) -> list[Documents]:
    """Read two sets of policies; one from files alone gets its roles and tags from the other, and each is read once."""
    report, read = invocation.messages.print, dict[str, Documents]()
    for source in sorted((old, new), key=lambda one: one.path is not None):  # files last
        if source.name not in read:
            read[source.name] = source.read(invocation, report, read.get(RANGER), listed=True)
    found = [read[old.name], read[new.name]]
    return [completed(one, by) for one, by in zip(found, reversed(found), strict=True)]
