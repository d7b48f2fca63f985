"""One request of which only the resource is open: formulas in which its user and circumstances are decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ranger_cdap.analysis.logic.atoms import AtomKind, AtomTable
from ranger_cdap.analysis.logic.conditions import SymbolicCondition
from ranger_cdap.analysis.logic.formula import FALSE, Formula, all_of
from ranger_cdap.analysis.logic.level_values import included, without_macros
from ranger_cdap.analysis.logic.solver import Contradiction
from ranger_cdap.analysis.logic.witness import Witness, holds
from ranger_cdap.analysis.subject import Subject, SubjectRulingMaker, SubjectWitnessFinder
from ranger_cdap.analysis.symbols.meeting import Elements
from ranger_cdap.analysis.symbols.space import PolicySpace
from ranger_cdap.analysis.symbols.symbolic import RulingMaker
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.engine.compiled.matcher import ResourceMatcher
from ranger_cdap.engine.compiled.service_def import Path
from ranger_cdap.engine.decide.query import tokens_of
from ranger_cdap.ranger_model.document import replaced


@dataclass(frozen=True, slots=True)
class RequestRulingMaker(SubjectRulingMaker):
    """Maker of rulings for one request; open are the levels, and conditions that look at more than circumstances."""

    tokens: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_request(cls, engine: PolicyEngine, request: AccessRequest) -> RequestRulingMaker:
        """Return the maker of an engine for a request; its resource means nothing."""
        request = replaced(request, resource={})
        subject = Subject(request.user, request.groups, request.roles, request.owner)
        return cls(
            engine,
            AtomTable(),
            engine.state.roles.names,
            subject=subject,
            mine=subject.principals(engine),
            context=engine.context_of(request),
            tokens=tokens_of(request),
        )

    def inside(self, path: Path, elements: Elements, *, macros: bool = True) -> Formula:
        """Return that a resource of the path has levels that these cover."""
        levels = zip(path, elements, strict=True)
        return all_of(self._level(name, one, macros=macros) for name, one in levels if one is not None)

    def _known(self, element: ResourceMatcher) -> ResourceMatcher:
        """Return a matcher without its exclusion and its macros."""
        if not element.dynamic and not element.excludes:
            return element
        known = self._levels.get(id(element))
        if known is None:
            # The element is kept, so that no other one gets its identity.
            known = self._levels[id(element)] = element, without_macros(included(element), self.tokens)
        return known[1]

    def conditions(self, conditions: Iterable[SymbolicCondition], *, restricts: bool) -> Formula:
        """Return that all conditions apply on a side."""
        found = list(conditions)
        plain = SubjectRulingMaker.conditions(self, (c for c in found if not c.is_opaque), restricts=restricts)
        if plain is FALSE:
            return FALSE
        return all_of(
            (plain, RulingMaker.conditions(self, (c for c in found if c.is_opaque), restricts=restricts)),
        )


@dataclass(slots=True)
class ResourceFinder(SubjectWitnessFinder):
    """Theory of the resources of one request on one path."""

    base: AccessRequest = field(default_factory=lambda: AccessRequest({}, ""))

    def _people(self, literals: tuple[int, ...]) -> AccessRequest | Contradiction:
        found = SubjectWitnessFinder._people(self, literals)
        return found if isinstance(found, Contradiction) else self.base

    def _candidate_people(self, literals: tuple[int, ...], base: AccessRequest) -> Iterator[AccessRequest]:
        yield base

    def _with_circumstances(self, literals: tuple[int, ...], base: AccessRequest) -> Witness | Contradiction:
        """Return the request on a resource, if the conditions that look at the resource are as wanted there."""
        kinds = (AtomKind.HOLDS, AtomKind.UNKNOWN)
        wanted = tuple(literal for literal in literals if self.table[literal].kind in kinds)
        if wanted:
            context = self.context_of(base)
            if any(holds(self.table[n], context, lenient=self.lenient) is (n < 0) for n in wanted):
                return Contradiction(wanted, certain=False)
        return Witness(base, is_opaque=bool(wanted))


def resource_finder(space: PolicySpace, request: AccessRequest, path: Path, value_steps: int) -> ResourceFinder:
    """Return the finder of the resources of a request."""
    maker = space.maker
    return ResourceFinder(
        maker.table,
        path,
        request.access_type,
        request.access_time,
        space.engine.context_of,
        maker.lenient,
        value_steps,
        base=replaced(request, resource={}),
    )
