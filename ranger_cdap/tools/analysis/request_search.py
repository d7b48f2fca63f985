"""Searches for requests that fulfil a formula, in one set of policies, each of so many steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from ranger_cdap.engine.view import Path
from ranger_cdap.keyed import remembered
from ranger_cdap.tools.analysis.logic.atoms import AtomKind
from ranger_cdap.tools.analysis.logic.formula import Formula
from ranger_cdap.tools.analysis.logic.level_values import MAX_VALUE_STEPS
from ranger_cdap.tools.analysis.logic.solver import MAX_SEARCH_STEPS, FormulaSolver, Solution
from ranger_cdap.tools.analysis.logic.witness import Witness, WitnessFinder
from ranger_cdap.tools.analysis.symbols.allowing import AccessSource
from ranger_cdap.tools.analysis.symbols.space import PolicySpace

DEFAULT_TIME: Final = 1_767_268_800_000
"""Access time of witnesses that depend on no time: 2026-01-01 12:00 UTC."""

HIDDEN_FACT: Final = "more than address, time and context decides a condition"
"""Doubt about a row whose request the engine decides otherwise."""


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """Steps of each search; a search that uses them up makes a *may* row."""

    search_steps: int = MAX_SEARCH_STEPS
    value_steps: int = MAX_VALUE_STEPS


@dataclass(slots=True, eq=False)
class RequestSearch:
    """Searches for requests of anyone; values that were found are kept for the next.

    `contradictions` are witnesses that an engine decides otherwise: faults of this analysis.
    """

    space: PolicySpace
    budget: SearchBudget
    access_time: int = DEFAULT_TIME
    contradictions: list[Witness] = field(default_factory=list)
    _finders: dict[tuple[Path, str], WitnessFinder] = field(default_factory=dict)
    _solver: FormulaSolver = field(init=False)

    def __post_init__(self) -> None:
        self._solver = FormulaSolver(self.budget.search_steps)

    def solve(self, formula: Formula, path: Path, access: str) -> Solution[Witness]:
        """Return a request on a path for an access type that fulfils a formula."""
        finder = remembered(self._finders, (path, access), lambda: self.finder(path, access))
        return self._solver.solve(formula, finder)

    def confirmed(
        self, formula: Formula, path: Path, access: str, confirms: Callable[[Witness], bool]
    ) -> tuple[Witness | None, tuple[str, ...]] | None:
        """Return a request that is confirmed, or doubts: what could not be decided; None if there is no request."""
        found = self.solve(formula, path, access)
        if found.witness is None:
            return None if found.exact else (None, doubts_of(self.space, found.undecided))
        if confirms(found.witness):
            return found.witness, ()
        if not found.witness.is_opaque:
            self.contradictions.append(found.witness)
        return None, (HIDDEN_FACT,)

    def finds_none(self, formula: Formula, source: AccessSource) -> bool:
        """Return True if no request of the kind of a source fulfils a formula; False if that is not certain."""
        found = self.solve(formula, source.region.path, source.access)
        return found.witness is None and found.exact

    def finder(self, path: Path, access: str) -> WitnessFinder:
        """Return the finder of requests on a path for an access type."""
        maker = self.space.maker
        context_of, steps = self.space.engine.context_of, self.budget.value_steps
        return WitnessFinder(maker.table, path, access, self.access_time, context_of, maker.lenient, steps)


def doubts_of(space: PolicySpace, undecided: Iterable[int]) -> tuple[str, ...]:
    """Return the names of literals that could not be decided."""
    texts: dict[str, None] = {}
    for number in undecided:
        atom = space.maker.table[number]
        sign = "" if number > 0 else "not "
        if atom.matcher is not None:
            texts[f"{sign}{atom.name} {' or '.join(atom.matcher.values)}"] = None
        elif atom.kind is AtomKind.ZONE:
            texts[f"in security zone {atom.name}" if atom.name else "outside of security zones"] = None
        elif atom.kind is AtomKind.TOO_LONG:
            texts[f"resources too long to be matched with {atom.name}"] = None
        elif atom.condition is not None:
            texts[f"{sign}{atom.name}"] = None
    return tuple(texts) or ("the search took too many steps",)
