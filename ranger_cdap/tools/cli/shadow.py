"""`ranger-cdap shadow`: what enforcing would change, from an audit, and the policies against it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ranger_cdap.cli.command import Command, CommandGroup
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.files import write_file
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.cli.policy_files import PolicyFiles, policy_files
from ranger_cdap.errors import UnsafeGrant
from ranger_cdap.ranger.files.strict_text import write_json
from ranger_cdap.tools.cli.known_zones import known_zones
from ranger_cdap.tools.cli.shadow_sources import AUDIT, SOURCES, ShadowSource, read_report, require_evidence
from ranger_cdap.tools.cli.shadow_text import print_report, report_document
from ranger_cdap.tools.policies.needed_policies import Right, needed_policies
from ranger_cdap.tools.shadow.shadow_report import ShadowChange, ShadowRow, gaps


@click.group("shadow", cls=CommandGroup, examples=("ranger-cdap shadow report",))
def shadow() -> None:
    """Show what enforcement would change before you enable it."""


_audit = click.argument("audit", type=FILE, metavar="[FILE]...", nargs=-1)
_source = click.option(
    "--records", "source", type=click.Choice(list(SOURCES)), default=AUDIT.name,
    show_default=True, callback=lambda _context, _parameter, given: SOURCES[given],
    help="Kind of records in FILE: our audit records, or the predecessor's Ranger audit events.",
)  # fmt: skip


@shadow.command(
    "report",
    cls=Command,
    examples=(
        "ranger-cdap shadow report",
        "ranger-cdap shadow report /archive/records.jsonl.1 /archive/records.jsonl --out gaps.json",
        "ranger-cdap shadow report --records predecessor cdap_ranger_audit.log --since 2026-11-01",
    ),
    exits={
        ExitCode.OK: "full enforcement would not change any of these decisions",
        ExitCode.NO: "it would change some",
        ExitCode.INVALID_INPUT: "nothing shows that: no record is of an operation that is only reported, or lines were "
        "rejected, or records could not be decided",
        ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY],
    },
)
@_audit
@_source
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write the policies that would close the gaps to a file, as JSON.",
)  # fmt: skip
@click.option("--since", metavar="TIME", help="Only records since a date, a time in UTC, or like `7d` (ago).")
@click.option(
    "--accept-allowed", is_flag=True, help="Exit with 0 if nothing is newly denied: accept what is newly allowed."
)
@click.option("--accept-undecided", is_flag=True, help="Exit with 0 even if some records are undecided.")
@policy_files
@pass_invocation
@click.pass_context
def report_command(
    context: click.Context,
    invocation: Invocation,
    audit: tuple[Path, ...],
    source: ShadowSource,
    out: Path | None,
    since: str | None,
    accept_allowed: bool,
    accept_undecided: bool,
    files: PolicyFiles | None,
) -> None:
    """Show per user and operation what enforcement would change: newly denied accesses with the missing privilege, and
    newly allowed ones.

    FILEs are written by the audit sink `file`; default: `audit.file` and the files it was rotated to. Only records of
    operations that `[enforce]` does not enforce yet are counted.

    A denial is marked as closed if current policies grant the missing privilege. Records of older versions, which do
    not name it, are listed by their reason. Lists of entities are not audited.

    `--records predecessor` reads the audit of the Java predecessor. Each record is replayed with today's policies,
    groups and settings. Its events name no operation, so each possible one is compared. Undecided records are counted
    by their reason.
    """
    found, rows, engine = read_report(invocation, source, audit, files, since)
    rights = _closing(invocation, rows)
    zones = known_zones(invocation, files, engine) if rights else None
    policies = needed_policies(rights, invocation.settings.cdap.instance, zones)
    if out is not None:
        write_file(out, write_json({"policies": [policy.document() for policy in policies]}))
    if invocation.as_json:
        invocation.print_json(report_document(source, found, rows, policies))
    else:
        print_report(invocation, source, found, rows, policies)
    counts = (row for row in rows if row.key.change is ShadowChange.DENIED or not accept_allowed)
    if any(not row.closed for row in counts):
        context.exit(ExitCode.NO)
    require_evidence(source, found, accepts_undecided=accept_undecided)


def _closing(invocation: Invocation, rows: Sequence[ShadowRow]) -> Sequence[Right]:
    """Return the rights that close the open gaps; a user name that is unsafe in a policy is left out, with a note."""
    rights, left_out = list[Right](), dict[str, str]()
    for right in gaps(rows):
        try:
            needed_policies([right], invocation.settings.cdap.instance)
        except UnsafeGrant as e:
            left_out[right[0]] = str(e)
        else:
            rights.append(right)
    for why in left_out.values():
        invocation.messages.print(f"note: no policy is proposed: {why}")
    return rights
