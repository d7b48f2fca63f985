"""Precedence of policies as a formula: what `decide/semantics.py` does step by step, for one access type.

The rules are those of semantics.py, with their numbers; a change there is a change here. Rulings are in order of
evaluation. Rule 4 shows in two places: an allow by tags stands once a policy without a deny side has been evaluated,
and a denial by tags once a policy has been evaluated that does not override it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from ranger_cdap.tools.analysis.logic.formula import FALSE, TRUE, Formula, all_of, any_of, negated
from ranger_cdap.tools.analysis.symbols.symbolic import Ruling

SUPER_USER_PRIORITY: Final = 2**31 - 1
"""Priority of the allow that super users start with."""


def decision(by_tags: Iterable[Ruling], by_resource: Sequence[Ruling], superuser: Formula) -> Formula:
    """Return that access is allowed (rules 2, 4, 5 and 6)."""
    result = _undetermined(by_resource)
    for priority, rulings in _descending(by_tags)[::-1]:
        denies = any_of(one.denies for one in rulings)
        allows = any_of(one.allows for one in rulings)
        if denies is FALSE and allows is FALSE:
            continue
        result = any_of(
            (
                all_of((denies, _after_denial(by_resource, priority))),
                all_of((negated(denies), allows, _after_allow(by_resource, priority))),
                all_of((negated(denies), negated(allows), result)),
            )
        )
    if superuser is FALSE:
        return result
    privileged = all_of((superuser, _after_allow(by_resource, SUPER_USER_PRIORITY)))
    return any_of((privileged, all_of((negated(superuser), result))))


def decision_given_allow(by_resource: Iterable[Ruling], priority: int) -> Formula:
    """Return that access is allowed where a resource policy of this priority allows, without tags (rule 2)."""
    result: Formula = TRUE
    for own, rulings in _descending(by_resource)[::-1]:
        if own < priority:
            continue
        allows = any_of(one.allows for one in rulings) if own > priority and result is not TRUE else FALSE
        result = all_of((negated(any_of(one.denies for one in rulings)), any_of((allows, result))))
    return result


def _undetermined(rulings: Iterable[Ruling]) -> Formula:
    """Return that resource policies allow where nothing else has an answer (rules 2 and 6)."""
    result: Formula = FALSE
    for _, same in _descending(rulings)[::-1]:
        denies, allows = any_of(one.denies for one in same), any_of(one.allows for one in same)
        result = all_of((negated(denies), any_of((allows, result))))
    return result


def _after_allow(rulings: Iterable[Ruling], priority: int) -> Formula:
    """Return that no resource policy of this priority or a higher one overrides an allow (rules 4 and 5)."""
    result: Formula = TRUE
    for own, same in _descending(rulings)[::-1]:
        if own >= priority:
            denies = any_of(one.denies for one in same)
            final = any_of(one.candidate for one in same if not one.policy.has_deny)
            result = all_of((negated(denies), any_of((any_of(one.allows for one in same), final, result))))
    return result


def _after_denial(rulings: Sequence[Ruling], priority: int) -> Formula:
    """Return that the first policy of higher priority with an answer overrides a denial by tags (rules 4 and 5)."""
    result: Formula = FALSE
    later = any_of(one.candidate for one in rulings if one.policy.priority <= priority)
    for one in reversed(rulings):
        if one.policy.priority <= priority:
            continue
        considered = one.considered if one.policy.has_items else FALSE
        final = later if one.policy.has_deny else TRUE
        result = any_of((all_of((considered, one.allows, final)), all_of((negated(considered), result))))
        later = any_of((later, one.candidate))
    return result


def _descending(rulings: Iterable[Ruling]) -> list[tuple[int, list[Ruling]]]:
    in_order = sorted(rulings, key=lambda one: -one.policy.priority)
    return [(priority, list(same)) for priority, same in groupby(in_order, key=lambda one: one.policy.priority)]
