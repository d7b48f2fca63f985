"""A matrix as one HTML page: no scripts, nothing from elsewhere, and every name escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from itertools import groupby
from typing import Final

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cli.invocation import visible
from ranger_cdap.cli.policy_index import PolicyIndex
from spark_sync.cli.matrix_answers import LETTERS, ActionAccess, Matrix, MatrixCell, MatrixStatus, MatrixSubject

_ELEMENTS: Final[Mapping[MatrixStatus, str]] = {
    MatrixStatus.ALLOWED: "b",
    MatrixStatus.CONDITIONAL: "i",
    MatrixStatus.DENIED: "s",
}

_NOTHING: Final = "\N{EN DASH}"

_STYLE: Final = """\
:root { color-scheme: light dark; --paper: #fbfbf9; --card: #fff; --ink: #1d2126; --quiet: #555d66; --line: #c9ced4;
  --yes: #17663a; --yes-paper: #d5f0df; --perhaps: #7a4b00; --perhaps-paper: #fdeccb; --no: #a3161d;
  --no-paper: #fbdcdc; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --card: #1e2227; --ink: #e8eaed; --quiet: #a9b1ba;
  --line: #444b54; --yes: #a5e6bf; --yes-paper: #14402a; --perhaps: #f5cf8b; --perhaps-paper: #4a3200; --no: #ffb3b0;
  --no-paper: #561a1c; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 1rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif;
  display: flex; flex-direction: column; height: 100vh; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.1rem; margin: 1rem 0 .25rem; }
ul { margin: 0; padding-left: 1.25rem; }
td small { margin: 0 .3em 0 .1em; }
p { margin: 0 0 .5rem; color: var(--quiet); }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
.wide { overflow: auto; align-self: start; max-width: 100%; min-height: 12rem; border: 1px solid var(--line); }
.wide:focus-visible { outline: 3px solid #0b57a4; outline-offset: 2px; }
table { border-collapse: separate; border-spacing: 0; background: var(--card); }
th, td { border-right: 1px solid var(--line); border-bottom: 1px solid var(--line); padding: .2rem .5rem; }
thead th { position: sticky; top: 0; z-index: 2; background: var(--card); vertical-align: bottom; max-width: 12rem;
  min-width: 4rem; overflow-wrap: break-word; }
thead th small { display: block; color: var(--quiet); font-weight: 400; }
tbody th { position: sticky; left: 0; z-index: 1; background: var(--card); text-align: left; font-weight: 400;
  min-width: 10rem; max-width: 30rem; overflow-wrap: break-word; }
tbody th[scope=rowgroup] { font-weight: 700; border-right: 0; }
tbody td.fill { border-right: 0; }
thead th:first-child { left: 0; z-index: 3; text-align: left; }
td { text-align: center; white-space: nowrap; color: var(--quiet); }
td[title] { cursor: help; }
tbody tr:hover td, tbody tr:hover th { box-shadow: inset 0 -2px var(--quiet), inset 0 2px var(--quiet); }
b, i, s { display: inline-block; min-width: 1.35em; padding: 0 .2em; margin: 0 1px; border-radius: .2rem;
  font-style: normal; font-weight: 700; text-align: center; }
b { color: var(--yes); background: var(--yes-paper); }
i { color: var(--perhaps); background: var(--perhaps-paper); border: 1px dashed; }
s { color: var(--no); background: var(--no-paper); }
@media print { body { height: auto; display: block; }
  .wide { overflow: visible; } thead th, tbody th { position: static; } }
"""


def page(matrix: Matrix, book: PolicyIndex) -> str:
    """Return the page."""
    return "".join(_page(matrix, book))


def _page(matrix: Matrix, book: PolicyIndex) -> Iterator[str]:
    title = f"Who can do what in {_text(matrix.namespace)}"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{title}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    yield (
        f"<p>Service {_text(matrix.service)}, policies of version {matrix.policy_version}, as decided at "
        f"{_text(matrix.taken)}: {len(matrix.entities)} entities, {len(matrix.subjects)} columns. A user has the "
        "groups named below them; a group is for a user with nothing else.</p>\n"
    )
    yield (
        f'<p class="legend"><span>{_letters()}</span><span><b>R</b> allowed</span>'
        "<span><i>R?</i> depends on a condition or a time</span><span><s>R</s> denied by a policy</span>"
        f"<span>{_NOTHING} no policy allows it</span>"
        "<span><small>7</small> decided by policy 7; the policies are listed below the table</span></p>\n"
    )
    yield '<div class="wide" tabindex="0" role="region" aria-label="matrix">\n<table>\n<thead>\n<tr>'
    yield '<th scope="col">Entity</th>'
    yield from (_column(subject) for subject in matrix.subjects)
    yield "</tr>\n</thead>\n"
    paired = zip(matrix.entities, matrix.rows, strict=True)
    for kind, rows in groupby(paired, key=lambda pair: pair[0].type):
        yield f'<tbody>\n<tr><th scope="rowgroup">{_text(kind)}</th>'
        yield f'<td class="fill" colspan="{len(matrix.subjects)}"></td></tr>\n'
        for entity, row in rows:
            yield f'<tr><th scope="row">{_text(_name(entity))}</th>'
            yield from (_cell(cell, entity, s, book) for cell, s in zip(row, matrix.subjects, strict=True))
            yield "</tr>\n"
        yield "</tbody>\n"
    yield "</table>\n</div>\n"
    yield from _policies(matrix, book)
    yield "</body>\n</html>\n"


def _policies(matrix: Matrix, book: PolicyIndex) -> Iterator[str]:
    """Yield the list of all policies that decide a cell."""
    ids = {mark.policy_id for row in matrix.rows for cell in row for _, mark in cell.letters if mark.policy_id >= 0}
    if ids:
        yield "<h2>Policies</h2>\n<ul>\n"
        yield from (f"<li>{_text(book.named(policy_id))}</li>\n" for policy_id in sorted(ids))
        yield "</ul>\n"


def _column(subject: MatrixSubject) -> str:
    groups = (
        f"<small>in {_text(', '.join(subject.groups))}</small>" if subject.kind == "user" and subject.groups else ""
    )
    kind = f"<small>{_text(subject.kind)}</small>" if subject.name else ""
    return f'<th scope="col">{kind}{_text(subject.name or subject.kind)}{groups}</th>'


def _cell(cell: MatrixCell, entity: EntityId | EntityPattern, subject: MatrixSubject, book: PolicyIndex) -> str:
    if cell.is_empty:
        return f"<td>{_NOTHING}</td>"
    by_policy = groupby(cell.letters, key=lambda pair: pair[1].policy_id)
    letters = "".join(
        "".join(_letter(letter, mark) for letter, mark in found)
        + (f"<small>{policy_id}</small>" if policy_id >= 0 else "")
        for policy_id, found in by_policy
    )
    said = [f"{subject} on {entity}", *(_tooltip_line(action, mark, book) for action, mark in cell.marks)]
    return f'<td title="{"&#10;".join(map(_text, said))}">{letters}</td>'


def _letter(letter: str, mark: ActionAccess) -> str:
    element = _ELEMENTS[mark.standing]
    question = "?" if mark.standing is MatrixStatus.CONDITIONAL else ""
    return f"<{element}>{letter}{question}</{element}>"


def _tooltip_line(action: str, mark: ActionAccess, book: PolicyIndex) -> str:
    by = f" by {book.named(mark.policy_id)}" if mark.policy_id >= 0 else ""
    match mark.standing:
        case MatrixStatus.NONE:
            return f"{action}: no policy allows it"
        case MatrixStatus.CONDITIONAL:
            return f"{action}: depends on a condition or a time; now {'allowed' if mark.allowed else 'not allowed'}{by}"
        case _:
            return f"{action}: {mark.standing.value}{by}"


def _letters() -> str:
    return ", ".join(f"{letter} {action.lower()}" for action, letter in LETTERS.items())


def _name(entity: EntityId | EntityPattern) -> str:
    return ".".join(entity.parts)


def _text(text: str) -> str:
    return escape(visible(text, keep=""), quote=True)
