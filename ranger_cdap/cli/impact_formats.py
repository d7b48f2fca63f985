"""An impact as a table, as Markdown for a comment, and as one JSON document."""

from __future__ import annotations

import html
import re
import textwrap
from dataclasses import dataclass
from typing import Any, Final

from ranger_cdap.analysis.expected_changes import ChangedRow, ExpectedChange
from ranger_cdap.cli.impact_sources import PolicySource
from ranger_cdap.questions.analysis_documents import impact_document
from ranger_cdap.questions.display import visible
from ranger_cdap.questions.impact_text import headline, notes

WIDTH: Final = 80
LONGEST_COMMENT: Final = 60_000
"""Characters of the Markdown; GitHub takes comments of 65,536."""
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+!|~-])")


@dataclass(frozen=True, slots=True)
class ImpactReport:
    """Content of a report: the two sets as the user named them, and the rows, gained ones first.

    `fail_on` and `allow_file` are empty without these options; `unused` and `expired` are entries of that file.
    """

    service: str
    old: PolicySource
    new: PolicySource
    rows: tuple[ChangedRow, ...]
    fail_on: str = ""
    allow_file: str = ""
    unused: tuple[ExpectedChange, ...] = ()
    expired: tuple[ExpectedChange, ...] = ()

    def of(self, gained: bool) -> list[ChangedRow]:
        """Return the gained rows, or the lost ones."""
        return [one for one in self.rows if one.gained is gained]

    def fails(self, one: ChangedRow) -> bool:
        """Return True if `--fail-on` forbids a row."""
        return one.expected_by is None and self.fail_on in ("any", "gained" if one.gained else "lost")


def on_one_line(text: str) -> str:
    """Return a text on one line without control characters: names come from policies."""
    return visible(text, keep="")


# --- table ------------------------------------------------------------------------------------------------------------


def table(report: ImpactReport) -> str:
    """Return the rows as text of at most `WIDTH` columns."""
    lines = [] if report.rows else ["no access changes"]
    for one in report.rows:
        lines += _wrapped(headline(one), "")
        for text in (f"by {one.row.by}", *notes(one)):
            lines += _wrapped(text, "  ")
    return "\n".join(lines)


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(on_one_line(text), WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")


# --- Markdown ---------------------------------------------------------------------------------------------------------


def markdown(report: ImpactReport) -> str:
    """Return the rows as tables of a comment, of which no name formats, links or notifies; too many are counted."""
    lines = [f"**{summary(report)}**"]
    length, left_out = 0, 0
    for title, rows in (("Gained", report.of(gained=True)), ("Lost", report.of(gained=False))):
        if rows:
            lines += [
                "",
                f"### {title}",
                "",
                "| who | access | where | by | notes |",
                "| --- | --- | --- | --- | --- |",
            ]
        for one in rows:
            line = _table_row(one)
            length += len(line) + 1
            if length > LONGEST_COMMENT:
                left_out += 1
            else:
                lines.append(line)
    return "\n".join([*lines, *(["", f"{left_out} more rows are left out."] if left_out else [])])


def summary(report: ImpactReport) -> str:
    """Return `3 gained, 1 lost; 2 of them are expected`."""
    expected = sum(one.expected_by is not None for one in report.rows)
    counts = f"{len(report.of(gained=True))} gained, {len(report.of(gained=False))} lost"
    return counts + (f"; {expected} of them expected" if report.allow_file else "")


def _table_row(one: ChangedRow) -> str:
    may = "may: " if not one.row.witnesses else ""
    cells = [", ".join(one.row.who), may + ", ".join(one.row.accesses), one.row.place, one.row.by]
    return f"| {' | '.join([*map(_cell, cells), '<br>'.join(map(_cell, notes(one)))])} |"


def _cell(text: str) -> str:
    """Return a text as Markdown: no name can end the cell, format, link, or notify a user."""
    escaped = _MARKDOWN.sub(r"\\\1", html.escape(on_one_line(text), quote=False))
    return escaped.replace("@", "&#64;").replace("://", ":&#47;/")


# --- JSON -------------------------------------------------------------------------------------------------------------


def document(report: ImpactReport) -> dict[str, Any]:
    """Return the rows as a JSON document."""
    numbers = {"unused": [one.number for one in report.unused], "expired": [one.number for one in report.expired]}
    return {
        **impact_document(report.service, report.rows),
        "allow": {"file": report.allow_file, **numbers} if report.allow_file else None,
    }
