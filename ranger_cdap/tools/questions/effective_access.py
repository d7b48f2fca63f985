"""Questions about all resources or a pattern of them: what a user has access to, and who has access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ranger_cdap.cdap.entity import entity_type, entity_types
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.engine.view import compile_element
from ranger_cdap.tools.analysis.access_row import AccessRow
from ranger_cdap.tools.analysis.effective_access import AccessScope, effective_access
from ranger_cdap.tools.analysis.effective_access_rows import allowed_rows, taken_rows
from ranger_cdap.tools.analysis.example_request import ExampleRequest
from ranger_cdap.tools.analysis.subject import exactly
from ranger_cdap.tools.questions.entity_spelling import entity_spelling
from ranger_cdap.tools.questions.known_user import KnownUser, PolicyView


@dataclass(frozen=True, slots=True)
class EffectiveAccess:
    """Rows of access that is allowed, and that denials take away; `errors` are sentences on faults of the analysis."""

    allowed: tuple[AccessRow, ...]
    denied: tuple[AccessRow, ...]
    errors: tuple[str, ...]


def reached(
    view: PolicyView, accesses: Sequence[str], known: KnownUser | None = None, pattern: EntityPattern | None = None
) -> EffectiveAccess:
    """Return the access of a user or anyone to all entities or those of a pattern, and what is taken away from a user.

    Rows of anyone are ordered by whether they cover the whole pattern, those of a user by resource.
    """
    levels = view.engine.view.model.levels
    if pattern is None:
        paths, parts = tuple(dict.fromkeys(kind.path for kind in entity_types().values())), {"instance": view.instance}
    else:
        paths = (entity_type(pattern.type).path,)
        parts = dict(zip(paths[0], (view.instance, *pattern.parts), strict=True))
    within = {
        level: compile_element([part], False, levels[level]) if "*" in part else exactly(part, levels[level])
        for level, part in parts.items()
        if level in levels
    }
    subject = known.subject if known is not None else None
    found = effective_access(
        view.engine, AccessScope(tuple(accesses), paths, within, subject), denials=subject is not None
    )
    spelling = entity_spelling(view.instance)
    allowed = allowed_rows(found, spelling)
    contradicting = (ExampleRequest.of(one, spelling) for one in found.contradictions)
    errors = tuple(f"error: the engine contradicts the analysis on {one}" for one in contradicting)
    if subject is None:
        return EffectiveAccess(tuple(sorted(allowed, key=lambda row: not row.whole)), (), errors)
    taken = taken_rows(found, spelling)
    return EffectiveAccess(tuple(sorted(allowed, key=_order)), tuple(sorted(taken, key=_order)), errors)


def _order(row: AccessRow) -> tuple[object, ...]:
    return [level.values for level in row.levels], len(row.path), row.path, row.policy_id or -1, row.item or 0
