"""A matrix as a JSON document, and its accesses as sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.engine import Verdict
from ranger_cdap.tools.questions.matrix import ActionAccess, Matrix, MatrixCell, MatrixSubject

MOST_PARTS: Final = 6
"""Parts of a row that a text names."""

_UNNAMED: Final = "depends on a condition or a time"


def matrix_document(found: Matrix, index: PolicyIndex) -> dict[str, object]:
    """Return a matrix as a JSON document; a row has no cell for a subject to whom no policy applies."""
    return {
        "namespace": found.namespace,
        "service": found.service,
        "policy_version": found.policy_version,
        "time": found.taken,
        "columns": [_subject(subject) for subject in found.subjects],
        "rows": [
            {
                "entity": str(entity),
                "cells": [
                    {**_subject(subject), "actions": _actions(cell, index)}
                    for subject, cell in zip(found.subjects, row, strict=True)
                    if not cell.is_empty
                ],
            }
            for entity, row in zip(found.entities, found.rows, strict=True)
        ],
    }


def access_text(mark: ActionAccess, index: PolicyIndex) -> str:
    """Return the access to one action as a sentence: `allowed by policy 7 "readers"`."""
    by = f" by {index.named(mark.policy_id)}" if mark.policy_id >= 0 else ""
    match mark.verdict:
        case Verdict.NO_POLICY:
            return "no policy allows it"
        case Verdict.CONDITIONAL if mark.in_part:
            return f"allowed {note_text(mark, index)}"
        case Verdict.CONDITIONAL:
            now = "allowed" if mark.allowed else "not allowed"
            return f"{f'allowed {mark.depends}' if mark.depends else _UNNAMED}; now {now}{by}"
        case Verdict.UNDECIDED:
            return f"may be allowed, which could not be decided: {mark.depends}"
        case _:
            return f"{mark.verdict.value}{by}"


def note_text(mark: ActionAccess, index: PolicyIndex) -> str:
    """Return on what an access depends, or for which entities of a row it is; empty if it is the same for all."""
    if mark.in_part:
        texts = [f"like {part.example}: {access_text(part.access, index)}" for part in mark.parts[:MOST_PARTS]]
        left = len(mark.parts) - MOST_PARTS
        texts += [f"{left:,} more kinds of names"] if left > 0 else []
        texts += [f"not decided for all: {mark.depends}"] if mark.depends else []
        return f"in part: {'; '.join(texts)}"
    return (
        access_text(mark, index).partition("; now ")[0]
        if mark.verdict in (Verdict.CONDITIONAL, Verdict.UNDECIDED)
        else ""
    )


@dataclass(eq=False, slots=True)
class MatrixNotes:
    """Notes on the accesses of a matrix, numbered in the order in which they are asked for."""

    index: PolicyIndex
    _numbers: dict[str, int] = field(default_factory=dict)

    def number(self, mark: ActionAccess) -> int | None:
        """Return the number of the note on an access, None if there is nothing to note."""
        text = note_text(mark, self.index)
        return self._numbers.setdefault(text, len(self._numbers) + 1) if text else None

    @property
    def texts(self) -> tuple[str, ...]:
        """The notes asked for, the first one first."""
        return tuple(self._numbers)


def _subject(subject: MatrixSubject) -> dict[str, object]:
    return {"kind": subject.kind, "name": subject.name, "groups": subject.groups}


def _actions(cell: MatrixCell, index: PolicyIndex) -> dict[str, object]:
    return {action: _access(mark, index) for action, mark in cell.marks if mark.verdict is not Verdict.NO_POLICY}


def _access(mark: ActionAccess, index: PolicyIndex) -> dict[str, object]:
    return {
        "verdict": mark.verdict,
        "in_part": mark.in_part,
        "allowed_now": mark.allowed,
        "policy": index.document(mark.policy_id),
        "depends": mark.depends or None,
        **(
            {"parts": [{"example": str(one.example), **_access(one.access, index)} for one in mark.parts]}
            if mark.parts
            else {}
        ),
    }
