"""The ways by which a user has access to an entity, what stands against them, and what ends it: as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.engine import Verdict
from ranger_cdap.tools.analysis.access_paths import Cell, CellItem
from ranger_cdap.tools.analysis.effective_access_rows import applying
from ranger_cdap.tools.analysis.example_request import ExampleRequest
from ranger_cdap.tools.analysis.symbols.symbolic import ALLOW_EXCEPTIONS
from ranger_cdap.tools.cli.access_text import wrapped
from ranger_cdap.tools.questions.cell_text import conditions_of_item, dependence, item_of_cell
from ranger_cdap.tools.questions.entity_spelling import entity_spelling
from ranger_cdap.tools.questions.known_user import KnownUser, PolicyView

_ANSWERS = {
    Verdict.ALLOWED: "allowed",
    Verdict.DENIED: "denied",
    Verdict.NO_POLICY: "no policy allows it",
}


@dataclass(frozen=True, slots=True)
class WaysReport:
    """Text and JSON of the access types of one user to one entity."""

    _view: PolicyView
    _known: KnownUser
    _entity: EntityId
    _cells: Sequence[Cell]

    def lines(self, *, whole: bool) -> Iterator[str]:
        """Yield the answers with the items that allow; of the whole also denials, and what would end the access."""
        yield from wrapped(f"{self._known}, on {self._entity}")
        silent = [cell for cell in self._cells if not (cell.allowing or cell.denying)]
        for cell in self._cells:
            if cell not in silent:
                yield from self._lines(cell, whole=whole)
        if silent:
            yield from wrapped(f"{', '.join(cell.access for cell in silent)}: {_ANSWERS[Verdict.NO_POLICY]}")

    def document(self) -> dict[str, Any]:
        """Return the whole as JSON."""
        return {
            "user": self._known.subject.user,
            "groups": sorted(self._known.subject.groups),
            "entity": str(self._entity),
            "accesses": [self._document(cell) for cell in self._cells],
        }

    def _lines(self, cell: Cell, *, whole: bool) -> Iterator[str]:
        may = "may be " if cell.verdict is Verdict.UNDECIDED else ""
        answer = _ANSWERS.get(cell.verdict) or f"{may}allowed {dependence(cell)}".rstrip()
        yield from wrapped(f"{cell.access}: {answer}")
        for one in cell.ways:
            yield from wrapped(f"by {self._item(one, cell)}", "  ")
        if not whole:
            return
        for one in cell.allowing:
            if not one.effective:
                yield from wrapped(f"without effect: {self._item(one, cell)}", "  ")
        for one in cell.denying:
            excepts = one.item is not None and one.item.side == ALLOW_EXCEPTIONS
            what = ("excepted by" if excepts else "denied by") if one.effective else "overridden:"
            yield from wrapped(f"{what} {self._item(one, cell)}", "  ")
        if cell.removals:
            yield from wrapped(f"to end it: {self._removal(cell)}", "  ")

    def _removal(self, cell: Cell) -> str:
        """Return the sets of items that must no longer apply."""
        texts = [" and ".join(map(item_of_cell, group)) for group in cell.removals]
        if len(texts) > 1:
            return f"one of these must no longer apply to {self._known.subject.user}: {'; or '.join(texts)}"
        count = len(cell.removals[0])
        return (
            f"{texts[0]} must no longer apply to {self._known.subject.user}; it is the only way"
            if count == 1
            else f"all {count} ways must no longer apply to {self._known.subject.user}"
        )

    def _item(self, one: CellItem, cell: Cell) -> str:
        who = " or ".join(self._principals(one))
        texts = conditions_of_item(one, cell.access)
        return item_of_cell(one) + (f", as {who}" if who else "") + (f", if {' and '.join(texts)}" if texts else "")

    def _principals(self, one: CellItem) -> Sequence[str]:
        if one.item is None:
            return ()
        found = applying(one.item, self._view.engine, self._known.subject)
        return [self._known.through(principal, self._view.roles) for principal in found]

    def _document(self, cell: Cell) -> dict[str, Any]:
        """Return a cell as JSON; `removals` have the positions of ways."""
        spelling = entity_spelling(self._view.instance)
        positions = {id(one): n for n, one in enumerate(cell.ways)}
        return {
            "access": cell.access,
            "verdict": cell.verdict,
            "policy": self._view.index.document(cell.decided_by),
            "depends": None if cell.verdict in _ANSWERS else dependence(cell),
            "ways": [self._item_document(one, cell) for one in cell.ways],
            "without_effect": [self._item_document(one, cell) for one in cell.allowing if not one.effective],
            "denials": [{**self._item_document(one, cell), "overridden": not one.effective} for one in cell.denying],
            "removals": [[positions[id(one)] for one in group] for group in cell.removals],
            "example": msgspec.to_builtins(cell.witness and ExampleRequest.of(cell.witness, spelling)),
        }

    def _item_document(self, one: CellItem, cell: Cell) -> dict[str, Any]:
        return {
            "policy": self._view.index.document(one.policy_id),
            "list": one.item.side if one.item else None,
            "item": one.item.number if one.item else None,
            "tags": sorted({each.tag.type for each in one.occurrences}),
            "zone": one.zone or None,
            "as": self._principals(one),
            "conditions": conditions_of_item(one, cell.access),
        }
