"""An impact as a table, as Markdown for a comment, and as one JSON document."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ranger_cdap.analysis.expected_changes import ChangedRow, ExpectedChange
from ranger_cdap.cli.analysis_documents import level_documents, witness_document
from ranger_cdap.cli.impact_sources import PolicySource
from ranger_cdap.cli.invocation import visible
from ranger_cdap.engine import AccessRequest

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


def headline(one: ChangedRow) -> str:
    """Return `group analysts gains write on dataset cdap/ns1/sales.*`."""
    verb = "gain" if one.gained else "lose"
    verb = f"{verb}s" if one.row.witnesses else f"may {verb}"
    return f"{', '.join(one.row.who)} {verb} {', '.join(one.row.accesses)} on {one.row.place}"


def notes(one: ChangedRow) -> Iterator[str]:
    """Yield what else there is to say about a row, as sentences without a stop."""
    row = one.row
    if one.expected_by is not None:
        why = f": {one.expected_by.reason}" if one.expected_by.reason else ""
        yield f"expected by entry {one.expected_by.number}{why}"
    if row.conditions:
        yield f"if {' and '.join(row.conditions)}"
    yield from (f"except {text}" for text in row.exceptions)
    if row.partial:
        yield "in part: both sets allow the rest"
    if row.doubts:
        yield f"undecided: {', '.join(row.doubts)}"
    for witness in list(row.witnesses.values())[:1]:
        yield f"for example {request_text(witness.request)}"


def request_text(request: AccessRequest) -> str:
    """Return a request as `someone in analysts: write on namespace=ns1 (from 10.1.0.1)`."""
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
        "service": report.service,
        "gained": [_row_document(one) for one in report.of(gained=True)],
        "lost": [_row_document(one) for one in report.of(gained=False)],
        "allow": {"file": report.allow_file, **numbers} if report.allow_file else None,
    }


def _row_document(one: ChangedRow) -> dict[str, Any]:
    row, entry = one.row, one.expected_by
    return {
        "policy": None if row.policy_id is None else {"id": row.policy_id, "name": row.policy_name},
        "item": row.item,
        "tag": row.tag or None,
        "zone": row.zone or None,
        "who": row.who,
        "accesses": row.accesses,
        "resource": level_documents(row.path, row.levels),
        "item_resource": level_documents(row.path, row.item_levels),
        "conditions": row.conditions,
        "except": row.exceptions,
        "partial": row.partial,
        "certainty": row.certainty.value,
        "undecided": row.doubts,
        "expected": None if entry is None else {"entry": entry.number, "reason": entry.reason},
        "witnesses": [
            {**witness_document(witness), "owner": witness.request.owner} for witness in row.witnesses.values()
        ],
    }
