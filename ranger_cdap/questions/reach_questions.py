"""Questions about all resources or a pattern of them: what a user has access to, and who has access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ranger_cdap.analysis.logic.witness import Witness
from ranger_cdap.analysis.reach import ReachScope, reach
from ranger_cdap.analysis.reach_rows import ReachRow, allowed_rows, taken_rows
from ranger_cdap.analysis.subject import exactly
from ranger_cdap.cdap.entity import entity_type, entity_types
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.engine.compiled.matcher import compile_element
from ranger_cdap.questions.known_user import KnownUser, PolicyView


@dataclass(frozen=True, slots=True)
class ReachAnswer:
    """Rows of access that is allowed, and that denials take away; `contradictions` are faults of the analysis."""

    allowed: tuple[ReachRow, ...]
    denied: tuple[ReachRow, ...] = ()
    contradictions: tuple[Witness, ...] = ()

    @property
    def errors(self) -> tuple[str, ...]:
        """Sentences on requests that the engine decides otherwise."""
        return tuple(map(_contradiction, self.contradictions))


def what_user_reaches(view: PolicyView, known: KnownUser, accesses: Sequence[str]) -> ReachAnswer:
    """Return all access of a user, and what denials and exceptions take away."""
    levels = view.engine.state.model.levels
    within = {"instance": exactly(view.instance, levels["instance"])} if "instance" in levels else {}
    paths = tuple(dict.fromkeys(kind.path for kind in entity_types().values()))
    found = reach(view.engine, ReachScope(tuple(accesses), paths, within, known.subject))
    allowed, denied = (tuple(sorted(rows(found), key=_order)) for rows in (allowed_rows, taken_rows))
    return ReachAnswer(allowed, denied, found.contradictions)


def who_reaches_pattern(view: PolicyView, pattern: EntityPattern, accesses: Sequence[str]) -> ReachAnswer:
    """Return who has access to entities of a pattern, those with access to all of it first."""
    levels, path = view.engine.state.model.levels, entity_type(pattern.type).path
    parts = zip(path, (view.instance, *pattern.parts), strict=True)
    within = {
        level: compile_element([part], False, levels[level]) if "*" in part else exactly(part, levels[level])
        for level, part in parts
        if level in levels
    }
    found = reach(view.engine, ReachScope(tuple(accesses), (path,), within), denials=False)
    rows = sorted(allowed_rows(found), key=lambda row: not row.whole)
    return ReachAnswer(tuple(rows), (), found.contradictions)


def _order(row: ReachRow) -> tuple[object, ...]:
    return [level.values for level in row.levels], len(row.path), row.path, row.policy_id or -1, row.item or 0


def _contradiction(witness: Witness) -> str:
    request = witness.request
    where = ", ".join(f"{name}={value}" for name, value in request.resource.items())
    return f"error: the engine contradicts the analysis on {request.user}: {request.access_type} on {where}"
