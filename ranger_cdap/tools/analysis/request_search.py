"""Searches for requests that fulfil a formula, in one set of policies, each of so many steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ranger_cdap.engine.view import Path
from ranger_cdap.tools.analysis.logic.formula import Formula
from ranger_cdap.tools.analysis.logic.level_values import MAX_VALUE_STEPS
from ranger_cdap.tools.analysis.logic.solver import MAX_SEARCH_STEPS, FormulaSolver, Solution
from ranger_cdap.tools.analysis.logic.witness import Witness, WitnessFinder
from ranger_cdap.tools.analysis.symbols.allowing import AllowSource
from ranger_cdap.tools.analysis.symbols.space import PolicySpace

DEFAULT_TIME: Final = 1_767_268_800_000
"""Access time of witnesses that depend on no time: 2026-01-01 12:00 UTC."""


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """Steps of each search; a search that uses them up makes a *may* row."""

    search_steps: int = MAX_SEARCH_STEPS
    value_steps: int = MAX_VALUE_STEPS


@dataclass(slots=True, eq=False)
class RequestSearch:
    """Searches for requests of anyone; values that were found are kept for the next."""

    space: PolicySpace
    budget: SearchBudget = SearchBudget()
    access_time: int = DEFAULT_TIME
    _finders: dict[tuple[Path, str], WitnessFinder] = field(default_factory=dict)
    _solver: FormulaSolver = field(init=False)

    def __post_init__(self) -> None:
        self._solver = FormulaSolver(self.budget.search_steps)

    def solve(self, formula: Formula, path: Path, access: str) -> Solution[Witness]:
        """Return a request on a path for an access type that fulfils a formula."""
        finder = self._finders.get((path, access))
        if finder is None:
            finder = self._finders[path, access] = self.finder(path, access)
        return self._solver.solve(formula, finder)

    def finds_none(self, formula: Formula, source: AllowSource) -> bool:
        """Return True if no request of the kind of a source fulfils a formula; False if that is not certain."""
        found = self.solve(formula, source.region.path, source.access)
        return found.witness is None and found.exact

    def finder(self, path: Path, access: str) -> WitnessFinder:
        """Return the finder of requests on a path for an access type."""
        maker = self.space.maker
        context_of, steps = self.space.engine.context_of, self.budget.value_steps
        return WitnessFinder(maker.table, path, access, self.access_time, context_of, maker.lenient, steps)
