"""Whether a guard of the analysis holds for a request, read plainly off its atoms."""

from __future__ import annotations

from ranger_cdap.engine import AccessRequest
from ranger_cdap.engine.compiled.items import principal_set
from ranger_cdap.engine.decide.query import tokens_of
from ranger_cdap.tools.analysis.logic.atoms import Atom, AtomKind
from ranger_cdap.tools.analysis.logic.formula import Formula, inner_first, values_in_order
from ranger_cdap.tools.analysis.logic.witness import holds
from ranger_cdap.tools.analysis.symbols.space import PolicySpace


def contains(space: PolicySpace, guard: Formula, request: AccessRequest) -> bool:
    """Whether a guard holds for a request, whose resource has one value for each level of the guard's path."""
    context, maker = space.engine.context_of(request), space.maker

    def of(number: int) -> bool:
        return value_of(maker.table[number])

    def value_of(atom: Atom) -> bool:
        if atom.kind is AtomKind.LEVEL:
            assert atom.matcher is not None
            value = request.resource.get(atom.name)
            return value is not None and atom.matcher.covers(value, tokens_of(request))
        if atom.kind in (AtomKind.HOLDS, AtomKind.UNKNOWN):
            return holds(atom, context, lenient=maker.lenient)
        if atom.kind is AtomKind.TOO_LONG:
            return False
        return not atom.principals.isdisjoint(
            principal_set(request.user, request.groups, request.roles or (), request.owner)
        )

    if isinstance(guard, int):
        return of(abs(guard)) is (guard > 0)
    return values_in_order(inner_first(guard), of)[id(guard)]
