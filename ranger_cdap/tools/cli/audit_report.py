"""`ranger-cdap audit report`: what of the policies was used, what was denied repeatedly, and who stopped."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import click

from ranger_cdap import store
from ranger_cdap.audit.verify import Place, lines_of, rotated_files
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.display import visible
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.files import reading
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import LocationParameter, moment_of
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.config import Location, StoreUrl
from ranger_cdap.disk import os_errors_as
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import InvalidInput, NotReady
from ranger_cdap.plugins.manager import plugin_manager
from ranger_cdap.ranger.refresh.documents import Documents
from ranger_cdap.ranger_model.decode import decode_user_store
from ranger_cdap.tools.insights.activity import repeated_denials, stopped_users
from ranger_cdap.tools.insights.facts import DAY, AuditFacts, Period, read_facts
from ranger_cdap.tools.insights.privileges import unused_policies, unused_privileges
from ranger_cdap.tools.insights.replay import Replayer
from ranger_cdap.tools.insights.report import InsightReport
from ranger_cdap.tools.insights.table import InsightTable, iso

RECORDS: Final = LocationParameter()
"""A file of audit records or a directory of such files, perhaps in a store, or `-` for standard input."""
_UNREAD: Final = (".gz", ".bz2", ".deflate", ".snappy", ".lz4", ".zst", ".xz", ".zip", ".parquet", ".orc")
_MOST_ROWS: Final = 20
_MOST_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class AuditRead:
    """An audit that was read, its period, and the policies that decided on it again."""

    facts: AuditFacts
    period: Period
    documents: Documents
    engine: PolicyEngine
    groups: dict[str, frozenset[str]]


@click.command(
    "report",
    cls=Command,
    examples=(
        "ranger-cdap audit report",
        "ranger-cdap audit report /archive/audit --policies current.json,users.json --days 30 --json",
        "ranger-cdap audit report - --since 90d",
    ),
    exits={ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY]},
)
@click.argument("records", type=RECORDS, metavar="[RECORDS]...", nargs=-1)
@policy_files
@click.option("--since", metavar="TIME", help="Only records from this on; a date, a time in UTC, or like `7d` (ago).")
@click.option("--until", metavar="TIME", help="Only records before this; as --since.")
@click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    default=90,
    show_default=True,
    metavar="N",
    help="Unused means: not used in the last N days before --until.",
)
@pass_invocation
def report_command(
    invocation: Invocation,
    records: tuple[Location, ...],
    files: PolicyFiles | None,
    since: str | None,
    until: str | None,
    days: int,
) -> None:
    """Show unused privileges, unused policies, repeated denials, and users who are no longer active.

    RECORDS are files of audit records (one JSON object per line) or directories of such files, also by their address in
    HDFS or S3, or `-`; default: `audit.file` and the files it was rotated to. Each record is replayed against the
    policies, with its time and address. Records name no groups, so today's groups of the user store are used.
    """
    read = read_audit(invocation, records, files, since, until)
    facts, groups, cutoff = read.facts, read.groups, read.period.until - days * DAY
    first = min(use.first for use in facts.uses)
    if first > cutoff:
        invocation.messages.print(
            f"warning: the audit begins on {(iso(first) or '')[:10]}, so it does not cover {days} days"
        )
    index = PolicyIndex.of(read.documents)
    tables = (
        unused_privileges(index, facts, groups, cutoff),
        unused_policies(index, facts, cutoff),
        repeated_denials(facts, invocation.settings.cdap.instance),
        stopped_users(index, facts, groups, cutoff),
    )
    _present(invocation, InsightReport.of(facts, read.period, groups, tables, now=time.time_ns() // 1_000_000))


def read_audit(
    invocation: Invocation,
    records: Iterable[Location],
    files: PolicyFiles | None,
    since: str | None = None,
    until: str | None = None,
) -> AuditRead:
    """Read an audit and decide it again; warn of lines that do not count, and of what limits the answers.

    Raises:
        InvalidInput: an argument, the policies or a file cannot be used, or no record counts.
        NotReady: there are no policies.
    """
    now = time.time_ns() // 1_000_000
    begin, end = moment_of("--since", since, now, 0), moment_of("--until", until, now, now)
    if begin >= end:
        raise InvalidInput("`--since` is not before `--until`, so there is nothing to read")
    with authorizer_by(invocation, files) as authorizer:
        documents, engine, why = authorizer.snapshot.documents, authorizer.snapshot.engine, authorizer.snapshot.reason
    if documents is None or engine is None:
        raise NotReady(f"there are no policies to decide by: {why}")
    if invocation.settings.cdap.inherit:
        invocation.messages.print(
            "warning: `cdap.inherit` is on; an access that was inherited counts as not allowed now"
        )
    if plugin_manager().hook.ranger_cdap_groups.get_hookimpls():
        invocation.messages.print("warning: groups that plugins supply are not used")
    groups, period = known_groups(documents), Period(engine.service_name, begin, end)
    with invocation.messages.status("reading the audit"):
        facts = read_facts(audit_lines(invocation, records), period, Replayer(engine, groups).decide)
    require_uses(invocation, facts, period)
    return AuditRead(facts, period, documents, engine, groups)


def known_groups(documents: Documents) -> dict[str, frozenset[str]]:
    """Return the groups of all known users."""
    store = decode_user_store(documents.users) if documents.users is not None else None
    users = {*store.user_group_mapping, *store.user_attr_mapping} if store else ()
    return {user: store.groups_of(user) for user in users} if store else {}


def audit_lines(invocation: Invocation, records: Iterable[Location]) -> Iterator[tuple[Place, bytes]]:
    """Yield the lines of files, of all files below directories but hidden ones, and of standard input.

    Raises:
        InvalidInput: there is no file, one cannot be read, or it has no lines of text.
    """
    given = list(records) or rotated_files(invocation.settings.audit.file)
    with os_errors_as(InvalidInput, "the audit records cannot be read"):
        named = [path for one in given for path in _files(one)]
    paths = list({path if isinstance(path, StoreUrl) else os.path.realpath(path): path for path in named}.values())
    if not paths:
        where = ", ".join(f"`{one}`" for one in records) or f"`{invocation.settings.audit.file}`"
        raise InvalidInput(f"there are no files of audit records at {where}, so there is nothing to read")
    if unread := [path for path in paths if str(path).lower().endswith(_UNREAD)]:
        raise InvalidInput(f"`{unread[0]}` has no lines of text: only records of JSON, one per line, are read")
    for path in paths:
        if str(path) == "-":
            yield from lines_of(sys.stdin.buffer, "-")
        else:
            with reading(path) as file:
                yield from lines_of(file, str(path))


def _files(at: Location) -> Iterable[Location]:
    """Return the file, or the files below the directory except hidden ones."""
    if isinstance(at, StoreUrl):
        store.require_packages()
        if store.file_size(at) is not None:
            return [at]
        names = [each.name for each in store.entries(at, below=True) if each.size is not None]
    elif at.is_dir():
        names = sorted(str(path.relative_to(at)) for path in at.rglob("*") if path.is_file())
    else:
        return [at]
    return [at / name for name in names if not re.search(r"(^|/)[._]", name)]


def require_uses(invocation: Invocation, facts: AuditFacts, period: Period) -> None:
    """Warn of lines that do not count.

    Raises:
        InvalidInput: none does.
    """
    lines = facts.lines
    if facts.rejected:
        first = facts.rejected[0]
        invocation.messages.print(
            f"warning: rejected {lines.rejected:,} of {lines.lines:,} lines; the first is `{first.file}`, line "
            f"{first.line}: {first.reason}"
        )
    if facts.not_replayed:
        reasons = "; ".join(f"{count:,}: {why}" for why, count in facts.not_replayed.items())
        invocation.messages.print(f"warning: accesses that were not decided again: {reasons}")
    if not facts.uses:
        names = [f"`{name}`" for name, _ in facts.files[:_MOST_NAMED]]
        raise InvalidInput(
            f"no record of service `{period.service}` counts: of {lines.lines:,} lines, {lines.others:,} are of other "
            f"services, {lines.outside:,} outside of the period, and {lines.rejected:,} were rejected, of files "
            f"{', '.join(names) or '(empty)'}"
        )


def _present(invocation: Invocation, report: InsightReport) -> None:
    if report.unknown_users:
        named = ", ".join(f"`{name}`" for name in report.unknown_users[:_MOST_NAMED])
        more = len(report.unknown_users) - _MOST_NAMED
        invocation.messages.print(
            f"warning: the groups of {len(report.unknown_users):,} users are not known, so they count as members of "
            f"none: {named}{f' and {more:,} more' if more > 0 else ''}"
        )
    if invocation.as_json:
        invocation.print_json(report.document())
        return
    for table in report.tables:
        if table.rows and table.name != "rejected":
            _print_table(invocation, table)
    lines = report.facts.lines
    invocation.console.print(
        f"{report.facts.accesses:,} accesses by {report.users:,} users of `{report.service}` from "
        f"{(iso(report.first) or '')[:10]} to {(iso(report.last) or '')[:10]}"
    )
    invocation.console.print(
        f"{lines.lines:,} lines: {lines.accepted:,} accepted, {lines.others:,} of other services, {lines.outside:,} "
        f"outside of the period, {lines.marks:,} marks of the chain, {lines.rejected:,} rejected"
    )
    for table in report.tables:
        if not table.rows and table.name != "rejected":
            invocation.console.print(f"{table.title.lower()}: none")


def _print_table(invocation: Invocation, table: InsightTable) -> None:
    invocation.console.print(f"{table.title}: {table.about}")
    columns = [name.replace("_", " ") for name, _ in table.columns]
    rows = [[visible(text, keep="") for text in row] for row in table.texts()[:_MOST_ROWS]]
    invocation.print_table(columns, rows)
    if (more := len(table.rows) - _MOST_ROWS) > 0:
        invocation.console.print(f"and {more:,} more; `--json` has all")
    invocation.console.print("")
