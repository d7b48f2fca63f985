"""A matrix of a namespace on a terminal, as JSON, and as one HTML page: no scripts, and every name escaped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final, Self

from msgspec import to_builtins

from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cli.display import page_template
from ranger_cdap.cli.files import write_file
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.engine import Verdict
from ranger_cdap.keyed import grouped
from ranger_cdap.tools.questions.matrix import LETTERS, ActionAccess, Matrix, MatrixCell, MatrixSubject
from ranger_cdap.tools.questions.matrix_document import MatrixNotes, access_text, matrix_document
from ranger_cdap.tools.questions.namespace_matrix import NamespaceMatrix

SHARED: Final = __package__
"""The package with the template of a matrix."""
_LEGEND: Final = (
    "R read, W write, A admin, X execute; ? depends on a condition or a time, / for a part of the row's entities,"
    " ~ may be, ! is denied"
)
_ELEMENTS: Final[Mapping[Verdict, str]] = {
    Verdict.ALLOWED: "b",
    Verdict.CONDITIONAL: "i",
    Verdict.UNDECIDED: "i",
    Verdict.DENIED: "s",
}


def show_matrix(invocation: Invocation, found: NamespaceMatrix, out: Path | None) -> None:
    """Write the page to `out` if it is given, else print the matrix."""
    invocation.warn_of(found.unknown)
    for note in found.notes:
        invocation.messages.print(note)
    shown = found.matrix
    if out is not None:
        write_file(out, page(shown, found.index).encode())
        invocation.messages.print(f"`{out}` shows {len(shown.entities)} entities and {len(shown.subjects)} columns")
    if invocation.as_json:
        invocation.print_json(matrix_document(shown, found.index) | {"unknown": to_builtins(found.unknown)})
    elif out is None:
        _print_matrix(invocation, found)


def _print_matrix(invocation: Invocation, found: NamespaceMatrix) -> None:
    """Print the matrix on a terminal: a table or, if that is too wide, a list for each entity; then the notes."""
    shown, notes = found.matrix, MatrixNotes(found.index)

    def letter(name: str, mark: ActionAccess) -> str:
        return f"{name}{mark.mark}{notes.number(mark) or ''}"

    columns = ["entity", *(str(subject) for subject in shown.subjects)]
    rows = [
        [str(entity), *("".join(letter(*pair) for pair in cell.letters) for cell in row)]
        for entity, row in zip(shown.entities, shown.rows, strict=True)
    ]
    if sum(max(map(len, column)) + 2 for column in zip(columns, *rows, strict=True)) <= invocation.console.width:
        invocation.print_table(columns, rows)
    else:
        for entity, *cells in rows:
            texts = [f"{name} {letters}" for name, letters in zip(columns[1:], cells, strict=True) if letters]
            invocation.console.print(f"{entity}: {', '.join(texts) or 'no one'}")
    for number, text in enumerate(notes.texts, 1):
        invocation.console.print(f"{number}: {text}")
    invocation.messages.print(_LEGEND)


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """An entity or a pattern, with a cell per subject."""

    entity: EntityId | EntityPattern
    cells: Sequence[tuple[MatrixSubject, MatrixCell]]

    @property
    def alike(self) -> Mapping[MatrixCell, Sequence[MatrixSubject]]:
        """Return the subjects with the same access, without those to whom no policy applies."""
        return grouped((cell, subject) for subject, cell in self.cells if not cell.is_empty)


@dataclass(frozen=True, slots=True)
class MatrixPage:
    """Content of the template of a matrix: rows by type of entity, numbered notes, and the policies that decide."""

    matrix: Matrix
    groups: Sequence[tuple[str, Sequence[MatrixRow]]]
    notes: MatrixNotes
    access: Callable[[ActionAccess], str]
    policies: Sequence[str]
    letters: Mapping[str, str] = field(default_factory=lambda: LETTERS)
    elements: Mapping[Verdict, str] = field(default_factory=lambda: _ELEMENTS)

    @classmethod
    def of(cls, matrix: Matrix, book: PolicyIndex) -> Self:
        """Return the page of a matrix, with the policies of an index."""
        rows = zip(matrix.entities, matrix.rows, strict=True)
        paired = (MatrixRow(entity, list(zip(matrix.subjects, row, strict=True))) for entity, row in rows)
        ids = {mark.policy_id for row in matrix.rows for cell in row for _, mark in cell.letters if mark.policy_id >= 0}
        return cls(
            matrix,
            [(kind, list(found)) for kind, found in groupby(paired, key=lambda row: row.entity.type)],
            MatrixNotes(book),
            lambda mark: access_text(mark, book),
            [book.named(policy_id) for policy_id in sorted(ids)],
        )


def page(matrix: Matrix, book: PolicyIndex) -> str:
    """Return the page, from `templates/matrix.html`; nothing in it is linked."""
    return page_template("matrix.html", SHARED).render(
        page=MatrixPage.of(matrix, book), about=lambda *_: "", linked=lambda text: text
    )
