"""`ranger-cdap policies impact`: the access that a change of policies adds and removes."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from ranger_cdap.analysis.impact import Impact, impact
from ranger_cdap.analysis.report import ImpactRow, gained_rows, lost_rows
from ranger_cdap.analysis.witness import Witness
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.files import usable
from ranger_cdap.cli.invocation import Invocation, pass_invocation, visible
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.cli.policy_files import POLICIES, WITHOUT_TAGS, PolicyFiles
from ranger_cdap.engine import ADMIN_ACCESS, AccessRequest, EngineOptions, PolicyEngine
from ranger_cdap.errors import InvalidInput
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
from ranger_cdap.policies.refresh.fixed import FixedPolicies

_WIDTH: Final = 80
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+!|~-])")


@click.command(
    "impact",
    cls=Command,
    examples=(
        "ranger-cdap policies impact old.json new.json",
        "ranger-cdap policies impact old.json new.json --fail-on gained --format markdown",
    ),
    exits={
        ExitCode.OK: "shown; nothing that `--fail-on` forbids",
        ExitCode.ERROR: "an engine contradicts the analysis, which is a fault of the analysis",
        ExitCode.ACCESS_CHANGED: MEANINGS[ExitCode.ACCESS_CHANGED],
    },
)
@click.argument("old", type=POLICIES, metavar="OLD")
@click.argument("new", type=POLICIES, metavar="NEW")
@click.option("--roles", type=FILE, metavar="FILE", help="A role download, for both sets.")
@click.option("--tags", type=FILE, metavar="FILE", help="A tag download, for both sets.")
@click.option("--access", "accesses", metavar="TYPE", multiple=True, help="Only this access type. Repeatable.")
@click.option("--fail-on", type=click.Choice(["gained", "lost", "any"]), help="Exit with 6 if there is such a row.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json", "markdown"]),
    help="Default: table, or json with --json.",
)
@pass_invocation
@click.pass_context
def impact_command(
    context: click.Context,
    invocation: Invocation,
    old: Path,
    new: Path,
    roles: Path | None,
    tags: Path | None,
    accesses: tuple[str, ...],
    fail_on: str | None,
    output_format: str | None,
) -> None:
    """Show who gains and who loses which access where, if the policies of OLD become those of NEW.

    Each row has a request as evidence, which both sets of policies have decided. A row that may not be so says what
    could not be decided. docs/explanation/access-analysis.md explains the rows.
    """
    before, after = (_engine(invocation, PolicyFiles(path, roles, tags)) for path in (old, new))
    _refuse_unlike(old, before, new, after)
    found = impact(before, after, accesses=_accesses(accesses, before, after) or None)
    gained, lost = gained_rows(found), lost_rows(found)
    form = output_format or ("json" if invocation.as_json else "table")
    if form == "json":
        invocation.print_json(_document(after, gained, lost))
    else:
        for line in _FORMATS[form](gained, lost):
            click.echo(line)
    context.exit(_exit_code(invocation, found, {"gained": gained, "lost": lost}, fail_on))


def _exit_code(
    invocation: Invocation, found: Impact, rows: Mapping[str, Sequence[ImpactRow]], fail_on: str | None
) -> ExitCode:
    for witness in found.contradictions:
        invocation.messages.print(f"error: the engines contradict the analysis on {_line(_request(witness.request))}")
    if found.contradictions:
        return ExitCode.ERROR
    counted = rows if fail_on == "any" else (fail_on,) if fail_on else ()
    return ExitCode.ACCESS_CHANGED if any(rows[name] for name in counted) else ExitCode.OK


def _engine(invocation: Invocation, files: PolicyFiles) -> PolicyEngine:
    service = invocation.settings.ranger.service
    options = EngineOptions(conditions=condition_factories(plugin_manager()))
    with usable(files.policies):
        documents = files.read(service)
        engine = FixedPolicies.of(documents, service=service, options=options).snapshot.engine
    assert engine is not None
    if documents.tags is not None and files.tags is None:
        invocation.messages.print(WITHOUT_TAGS)
    for problem in engine.problems:
        invocation.messages.print(f"warning: `{files.policies}`: {problem}")
    return engine


def _refuse_unlike(old: Path, before: PolicyEngine, new: Path, after: PolicyEngine) -> None:
    kinds = [
        ("of service", before.service_name, after.service_name),
        ("for the service type", before.service_def.name, after.service_def.name),
    ]
    for what, one, other in kinds:
        if one != other:
            raise InvalidInput(
                f"the policies cannot be compared: those of `{old}` are {what} `{one}`, "
                f"those of `{new}` {what} `{other}`"
            )


def _accesses(given: Sequence[str], *engines: PolicyEngine) -> tuple[str, ...]:
    known = {access.name for engine in engines for access in engine.service_def.access_types} | {ADMIN_ACCESS}
    for name in given:
        if name not in known:
            raise InvalidInput(f"there is no access type `{name}`; there are {', '.join(sorted(known))}")
    return tuple(given)


def _line(text: str) -> str:
    """Return a text on one line without control characters: names come from policies."""
    return visible(text, keep="")


def _request(request: AccessRequest) -> str:
    groups = f" in {', '.join(sorted(request.groups))}" if request.groups else ""
    roles = f" with role {', '.join(sorted(request.roles))}" if request.roles else ""
    where = ", ".join(f"{name}={value}" for name, value in request.resource.items()) or "no resource"
    more = [f"from {request.client_ip}"] if request.client_ip else []
    more += [f"owned by {request.owner}"] if request.owner else []
    more += [f"for action {request.action}"] if request.action else []
    more += [f"{name}={value}" for name, value in request.context.items()]
    ending = f" ({', '.join(more)})" if more else ""
    user = "a request without a user" if request.user is None else request.user
    return f"{user}{groups}{roles}: {request.access_type} on {where}{ending}"


# --- table ------------------------------------------------------------------------------------------------------------


def _table(gained: Sequence[ImpactRow], lost: Sequence[ImpactRow]) -> Iterator[str]:
    if not gained and not lost:
        yield "no access changes"
    for verb, rows in (("gains", gained), ("loses", lost)):
        for row in rows:
            may = "may " if row.witnesses == {} else ""
            verb_ = {"gains": "gain", "loses": "lose"}[verb] if may else verb
            yield from _wrapped(f"{', '.join(row.who)} {may}{verb_} {', '.join(row.accesses)} on {row.place}", "")
            yield from _wrapped(f"by {row.by}", "  ")
            for text in _notes(row):
                yield from _wrapped(text, "  ")


def _notes(row: ImpactRow) -> Iterator[str]:
    if row.conditions:
        yield f"if {' and '.join(row.conditions)}"
    yield from (f"except {text}" for text in row.exceptions)
    if row.partial:
        yield "in part: both sets allow the rest"
    if row.doubts:
        yield f"undecided: {', '.join(row.doubts)}"
    for witness in list(row.witnesses.values())[:1]:
        yield f"for example {_request(witness.request)}"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(_line(text), _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")


# --- Markdown ---------------------------------------------------------------------------------------------------------


def _markdown(gained: Sequence[ImpactRow], lost: Sequence[ImpactRow]) -> Iterator[str]:
    yield f"**{len(gained)} gained, {len(lost)} lost**"
    for title, rows in (("Gained", gained), ("Lost", lost)):
        if rows:
            yield from (
                "",
                f"### {title}",
                "",
                "| who | access | where | by | notes |",
                "| --- | --- | --- | --- | --- |",
            )
        for row in rows:
            may = "may: " if not row.witnesses else ""
            cells = [", ".join(row.who), may + ", ".join(row.accesses), row.place, row.by]
            yield f"| {' | '.join([*map(_cell, cells), '<br>'.join(map(_cell, _notes(row)))])} |"


def _cell(text: str) -> str:
    """Return a text as Markdown: no name can end the cell, format, link, or notify a user."""
    return _MARKDOWN.sub(r"\\\1", html.escape(_line(text), quote=False)).replace("@", "&#64;").replace("://", ":&#47;/")


_FORMATS: Final[Mapping[str, Callable[[Sequence[ImpactRow], Sequence[ImpactRow]], Iterator[str]]]] = {
    "table": _table,
    "markdown": _markdown,
}


# --- JSON -------------------------------------------------------------------------------------------------------------


def _document(engine: PolicyEngine, gained: Sequence[ImpactRow], lost: Sequence[ImpactRow]) -> dict[str, Any]:
    return {
        "service": engine.service_name,
        "gained": [_row_document(row) for row in gained],
        "lost": [_row_document(row) for row in lost],
    }


def _row_document(row: ImpactRow) -> dict[str, Any]:
    levels = zip(row.path, row.levels, strict=True)
    policy = None if row.policy_id is None else {"id": row.policy_id, "name": row.policy_name}
    return {
        "policy": policy,
        "item": row.item,
        "tag": row.tag or None,
        "zone": row.zone or None,
        "who": row.who,
        "accesses": row.accesses,
        "resource": [{"level": n, "values": lv.values, "excludes": lv.excludes} for n, lv in levels],
        "conditions": row.conditions,
        "except": row.exceptions,
        "partial": row.partial,
        "certainty": row.certainty.value,
        "undecided": row.doubts,
        "witnesses": [_witness_document(witness) for witness in row.witnesses.values()],
    }


def _witness_document(witness: Witness) -> dict[str, Any]:
    request = witness.request
    levels = [{"level": name, "value": value} for name, value in request.resource.items()]
    return {
        "user": request.user,
        "groups": sorted(request.groups),
        "roles": sorted(witness.roles),
        "owner": request.owner,
        "access": request.access_type,
        "resource": levels,
        "client_ip": request.client_ip,
        "access_time": _iso(request.access_time) if request.access_time else None,
        "action": request.action,
        "cluster_name": request.cluster_name,
        "cluster_type": request.cluster_type,
        "context": [{"name": name, "value": value} for name, value in request.context.items()],
    }


def _iso(epoch_ms: int) -> str:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).isoformat()
