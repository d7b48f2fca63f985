"""A matrix as one HTML page: no scripts, nothing from elsewhere, and every name escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final

from ranger_cdap.questions.display import page_template
from ranger_cdap.questions.matrix import LETTERS, ActionAccess, Matrix, MatrixCell, MatrixStatus
from ranger_cdap.questions.matrix_document import MARKS, MatrixNotes, access_text
from ranger_cdap.questions.policy_index import PolicyIndex

_ELEMENTS: Final[Mapping[MatrixStatus, str]] = {
    MatrixStatus.ALLOWED: "b",
    MatrixStatus.CONDITIONAL: "i",
    MatrixStatus.PART: "i",
    MatrixStatus.MAY: "i",
    MatrixStatus.DENIED: "s",
}


def page(matrix: Matrix, book: PolicyIndex) -> str:
    """Return the page, from `templates/matrix.html`."""
    rows = zip(matrix.entities, matrix.rows, strict=True)
    paired = ((entity, list(zip(matrix.subjects, row, strict=True))) for entity, row in rows)
    ids = {mark.policy_id for row in matrix.rows for cell in row for _, mark in cell.letters if mark.policy_id >= 0}
    notes = MatrixNotes(book)
    return page_template("spark_sync.cli", "matrix.html").render(
        matrix=matrix,
        letters=LETTERS,
        elements=_ELEMENTS,
        groups=groupby(paired, key=lambda pair: pair[0].type),
        marks=MARKS,
        notes=notes,
        by_policy=_by_policy,
        access=lambda mark: access_text(mark, book),
        policies=[book.named(policy_id) for policy_id in sorted(ids)],
    )


def _by_policy(cell: MatrixCell) -> Iterator[tuple[int, Iterator[tuple[str, ActionAccess]]]]:
    return groupby(cell.letters, key=lambda pair: pair[1].policy_id)
