"""Boolean formulas in negation normal form: literals are numbers, minus for a negated atom.

Formulas are built by `all_of`, `any_of` and `negated` only, which simplify what is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final


@dataclass(eq=False, slots=True)
class Junction:
    """Conjunction or disjunction of formulas; without parts it is true or false."""

    conjunctive: bool
    parts: tuple[Formula, ...]
    _negation: Formula | None = None

    def negation(self) -> Formula:
        """Return the negation, computed once."""
        if self._negation is None:
            for one in inner_first(self):
                if one._negation is None:
                    # Dual, so as simple as the formula itself; no part is nested deeper than those before it.
                    dual = Junction(not one.conjunctive, tuple(map(negated, one.parts)))
                    one._negation, dual._negation = dual, one
        assert self._negation is not None
        return self._negation


Formula = int | Junction
"""An atom's number, negative if it is negated, or a junction."""

TRUE: Final = Junction(True, ())
FALSE: Final = Junction(False, ())


def all_of(parts: Iterable[Formula]) -> Formula:
    """Return the conjunction."""
    return _junction(True, parts)


def any_of(parts: Iterable[Formula]) -> Formula:
    """Return the disjunction."""
    return _junction(False, parts)


def negated(formula: Formula) -> Formula:
    """Return the negation."""
    if isinstance(formula, int):
        return -formula
    if formula is TRUE:
        return FALSE
    return TRUE if formula is FALSE else formula.negation()


def _junction(conjunctive: bool, parts: Iterable[Formula]) -> Formula:
    neutral, absorbing = (TRUE, FALSE) if conjunctive else (FALSE, TRUE)
    found: dict[Formula, None] = {}
    for part in parts:
        if part is absorbing:
            return absorbing
        if part is neutral:
            continue
        inner = part.parts if isinstance(part, Junction) and part.conjunctive is conjunctive else (part,)
        for one in inner:
            if isinstance(one, int) and -one in found:
                return absorbing
            found[one] = None
    if not found:
        return neutral
    return next(iter(found)) if len(found) == 1 else Junction(conjunctive, tuple(found))


def values_in_order(junctions: Iterable[Junction], holds: Callable[[int], bool]) -> dict[int, bool]:
    """Return the values of junctions, those inside another before it, by their identity."""
    known: dict[int, bool] = {}
    for one in junctions:
        parts = (holds(abs(p)) is (p > 0) if isinstance(p, int) else known[id(p)] for p in one.parts)
        known[id(one)] = (all if one.conjunctive else any)(parts)
    return known


def inner_first(formula: Formula) -> list[Junction]:
    """Return every junction of a formula once, those inside another before it; of any depth."""
    order: list[Junction] = []
    entered: set[int] = set()
    todo: list[tuple[Formula, bool]] = [(formula, False)]
    while todo:
        one, left = todo.pop()
        if isinstance(one, int):
            continue
        if left:
            order.append(one)
        elif id(one) not in entered:
            entered.add(id(one))
            todo.append((one, True))
            todo += [(part, False) for part in one.parts]
    return order
