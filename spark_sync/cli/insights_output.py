"""Output of `ranger-cdap insights report`: tables on the terminal, or one JSON document."""

from __future__ import annotations

from typing import Final

from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.questions.display import visible
from spark_sync.cli.insights_input import named_some
from spark_sync.insights.report import InsightReport
from spark_sync.insights.table import InsightTable, iso

_MOST_ROWS: Final = 20


def present(invocation: Invocation, report: InsightReport) -> None:
    """Print the report."""
    if report.unknown_users:
        invocation.messages.print(
            f"warning: the groups of {len(report.unknown_users):,} users are not known, so they count as members of "
            f"none: {named_some(report.unknown_users)}"
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
