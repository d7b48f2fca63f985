"""On what conditional accesses depend, found once for all subjects that no policy near the resource distinguishes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from ranger_cdap.authz.policy_index import TagPolicy
from ranger_cdap.engine import PolicyEngine, Verdict
from ranger_cdap.keyed import remembered
from ranger_cdap.tools.analysis.access_paths import CellFinder
from ranger_cdap.tools.analysis.subject import Subject
from ranger_cdap.tools.questions.cell_text import dependence

_UNNAMED: Final = "depending on what cannot be named"


@dataclass(frozen=True, slots=True)
class Dependence:
    """Answer in whatever circumstances, the text on what it depends, empty if on nothing, and the deciding policy."""

    verdict: Verdict
    text: str
    policy_id: int


class Dependences:
    """Finder of dependences in one set of policies.

    It keeps those on the resource last asked about.
    """

    def __init__(self, engine: PolicyEngine, tagged: Callable[[int], TagPolicy]) -> None:
        self._cells = CellFinder(engine)
        self._tagged = tagged
        self._enriched = engine.view.tag_table.enriched
        self._resource: dict[str, str] = {}
        self._known: dict[Hashable, Dependence] = {}

    def of(self, subject: Subject, resource: Mapping[str, str], access: str, policy_id: int) -> Dependence:
        """Return on what an access depends that the engine calls conditional by this policy."""
        if resource != self._resource:
            self._resource, self._known = dict(resource), {}
        key = (self._cells.class_of(subject, resource), access, policy_id)
        return remembered(self._known, key, partial(self._found, subject, resource, access, policy_id))

    def _found(self, subject: Subject, resource: Mapping[str, str], access: str, policy_id: int) -> Dependence:
        cell = self._cells.cell(subject, resource, access)
        if cell.verdict in (Verdict.CONDITIONAL, Verdict.UNDECIDED):
            return Dependence(cell.verdict, dependence(cell) or _UNNAMED, policy_id)
        # Tags that a service without an enricher has in its download can only deny; a cell does not name them.
        tags = "" if self._enriched or cell.verdict is not Verdict.ALLOWED else self._tagged(policy_id).tags
        if tags:
            return Dependence(Verdict.CONDITIONAL, f"depending on {tags}", policy_id)
        return Dependence(cell.verdict, "", cell.decided_by)
