"""Output of `ranger-cdap insights`: tables on the terminal, one JSON document, Parquet, and a page."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ranger_cdap.cli.files import write_file
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.errors import InvalidInput
from ranger_cdap.questions.display import visible
from spark_sync.cli.insights_input import named_some
from spark_sync.cli.insights_page import insights_page
from spark_sync.insights.report import InsightReport
from spark_sync.insights.table import InsightTable, iso

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_ROWS: Final = 20


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """Where the command line wants a report, beside standard output."""

    out: str | None
    html: Path | None

    def check(self) -> None:
        """Check what can be checked before the work.

        Raises:
            InvalidInput: a place cannot be written to.
        """
        if self.out == "":
            raise InvalidInput("`--out` is empty; name a new directory")
        if self.out is not None and "://" not in self.out and Path(self.out).exists():
            raise InvalidInput(f"`{self.out}` already exists; insights are written into a new directory")
        if self.html is not None and not self.html.parent.is_dir():
            raise InvalidInput(f"`{self.html}` cannot be written: its directory does not exist")


def output_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of output; the command gets them as `outputs`."""

    @functools.wraps(command)
    def with_outputs(*args: Any, out: str | None, html: Path | None, **more: Any) -> Any:
        return command(*args, outputs=OutputFiles(out, html), **more)

    page = click.option("--html", type=FILE, metavar="FILE", help="Write the report as a self-contained HTML page.")
    wrapped: Callable[..., Any] = click.option(
        "--out",
        metavar="DIR",
        help="Write every table as Parquet below this new directory, as Spark names it (hdfs://…, s3a://…).",
    )(page(with_outputs))
    return wrapped


def present(invocation: Invocation, report: InsightReport, outputs: OutputFiles, spark: SparkSession) -> None:
    """Write the report to its files, then print it.

    Raises:
        InvalidInput: a file or directory cannot be written.
        SyncError: Spark failed.
    """
    if outputs.out is not None:
        from spark_sync.insights.parquet import write_tables

        write_tables(spark, report, outputs.out)
    if outputs.html is not None:
        write_file(outputs.html, insights_page(report).encode())
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
    if outputs.out is not None:
        invocation.console.print(f"tables: {outputs.out}")
    if outputs.html is not None:
        invocation.console.print(f"page: {outputs.html}")


def _print_table(invocation: Invocation, table: InsightTable) -> None:
    invocation.console.print(f"{table.title}: {table.about}")
    columns = [name.replace("_", " ") for name, _ in table.columns]
    rows = [[visible(text, keep="") for text in row] for row in table.texts()[:_MOST_ROWS]]
    invocation.print_table(columns, rows)
    if (more := len(table.rows) - _MOST_ROWS) > 0:
        invocation.console.print(f"and {more:,} more; `--json` and `--out` have all")
    invocation.console.print("")
