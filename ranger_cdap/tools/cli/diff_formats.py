"""A difference of access as a table, as Markdown for a comment, and as a page."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Final

from ranger_cdap.cli.display import page_template, visible
from ranger_cdap.tools.analysis.access_row import AccessRow
from ranger_cdap.tools.cli.access_text import wrapped
from ranger_cdap.tools.questions.impact_text import headline, notes

WIDTH: Final = 80
LONGEST_COMMENT: Final = 60_000
"""Characters of the Markdown; GitHub takes comments of 65,536."""
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+!|~-])")


@dataclass(frozen=True, slots=True)
class DiffReport:
    """Content of a report: the two sets as the user named them, and the rows."""

    service: str
    old: str
    new: str
    rows: list[AccessRow]

    @property
    def sections(self) -> dict[str, list[AccessRow]]:
        """The gained rows and the lost ones, by their title."""
        return {
            "Gained": [row for row in self.rows if row.gained],
            "Lost": [row for row in self.rows if not row.gained],
        }

    @property
    def summary(self) -> str:
        """The counts: `3 gained, 1 lost`."""
        return ", ".join(f"{len(rows)} {title.lower()}" for title, rows in self.sections.items())


def on_one_line(text: str) -> str:
    """Return a text on one line without control characters: names come from policies."""
    return visible(text, keep="")


# --- table ------------------------------------------------------------------------------------------------------------


def table(report: DiffReport) -> str:
    """Return the rows as text of `WIDTH` columns."""
    lines = [] if report.rows else ["no access changes"]
    for row in report.rows:
        lines += wrapped(headline(row), "", WIDTH)
        for text in (f"by {row.by}", *notes(row)):
            lines += wrapped(text, "  ", WIDTH)
    return "\n".join(lines)


# --- Markdown ---------------------------------------------------------------------------------------------------------


def markdown(report: DiffReport) -> str:
    """Return the rows as tables of a comment, of which no name formats, links or notifies; too many are counted."""
    lines = [f"**{report.summary}**"]
    length, left_out = 0, 0
    for title, rows in report.sections.items():
        if rows:
            lines += [
                "",
                f"### {title}",
                "",
                "| who | access | where | by | notes |",
                "| --- | --- | --- | --- | --- |",
            ]
        for row in rows:
            line = _table_row(row)
            length += len(line) + 1
            if length > LONGEST_COMMENT:
                left_out += 1
            else:
                lines.append(line)
    return "\n".join([*lines, *(["", f"{left_out} more rows are left out."] if left_out else [])])


def _table_row(row: AccessRow) -> str:
    may = "may: " if not row.examples else ""
    cells = [", ".join(row.who), may + ", ".join(row.accesses), row.resource, row.by]
    return f"| {' | '.join([*map(_cell, cells), '<br>'.join(map(_cell, notes(row)))])} |"


def _cell(text: str) -> str:
    """Return a text as Markdown: no name can end the cell, format, link, or notify a user."""
    escaped = _MARKDOWN.sub(r"\\\1", html.escape(on_one_line(text), quote=False))
    return escaped.replace("@", "&#64;").replace("://", ":&#47;/")


# --- page -------------------------------------------------------------------------------------------------------------


def page(report: DiffReport) -> str:
    """Return one HTML page: no scripts, nothing from elsewhere, and every name escaped."""
    return page_template("diff.html", __package__).render(report=report, notes=notes)
