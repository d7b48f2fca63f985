"""Searches for a request of a row with some property, by which a row is described and compared."""

from __future__ import annotations

from dataclasses import dataclass, field

from ranger_cdap.engine.view import Path
from ranger_cdap.tools.analysis.impact import finder_of
from ranger_cdap.tools.analysis.logic.formula import Formula
from ranger_cdap.tools.analysis.logic.solver import FormulaSolver
from ranger_cdap.tools.analysis.logic.witness import WitnessFinder
from ranger_cdap.tools.analysis.symbols.allowing import AllowSource
from ranger_cdap.tools.analysis.symbols.space import PolicySpace


@dataclass(frozen=True, slots=True, eq=False)
class BoundedSearch:
    """Searches in one set of policies, each of so many steps; values that were found are kept for the next."""

    space: PolicySpace
    max_steps: int
    _finders: dict[tuple[Path, str], WitnessFinder] = field(default_factory=dict)

    def finds_none(self, formula: Formula, source: AllowSource) -> bool:
        """Return True if no request of the kind of a source fulfils a formula; False if that is not certain."""
        key = source.region.path, source.access
        finder = self._finders.get(key)
        if finder is None:
            finder = self._finders[key] = finder_of(self.space, *key)
        found = FormulaSolver(self.max_steps).solve(formula, finder)
        return found.witness is None and found.exact
