"""One user in place of anyone: formulas in which all that is known of the user is decided, and requests of theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ranger_cdap.engine import AccessRequest, ConditionContext, PolicyEngine
from ranger_cdap.engine.view import (
    OWNER,
    LevelOptions,
    Path,
    PatternKind,
    PolicyEntry,
    PolicyResourceMatcher,
    ResourceMatcher,
    ValueTest,
    expand,
    principal_set,
)
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.tools.analysis.logic.atoms import AtomKind, AtomTable
from ranger_cdap.tools.analysis.logic.conditions import SymbolicCondition
from ranger_cdap.tools.analysis.logic.formula import FALSE, TRUE, Formula, all_of, negated
from ranger_cdap.tools.analysis.logic.level_values import included, without_macros
from ranger_cdap.tools.analysis.logic.solver import Contradiction
from ranger_cdap.tools.analysis.logic.witness import Witness, WitnessFinder
from ranger_cdap.tools.analysis.request_search import DEFAULT_TIME, RequestSearch, SearchBudget
from ranger_cdap.tools.analysis.symbols.meeting import MeetingIndex
from ranger_cdap.tools.analysis.symbols.space import PolicySpace, Region, TagOccurrence, Zone
from ranger_cdap.tools.analysis.symbols.symbolic import RulingMaker

_USER = "USER"


@dataclass(frozen=True, slots=True)
class Subject:
    """A user with all their groups; unless `roles` are given, they have those of the role definitions.

    With `may_own`, whether they own the resource is open; otherwise `owner` does.
    """

    user: str | None
    groups: frozenset[str] = frozenset()
    roles: frozenset[str] | None = None
    owner: str | None = None
    may_own: bool = False

    def principals(self, engine: PolicyEngine) -> frozenset[str]:
        """Return the principal set by the role definitions of an engine, in the form of the engine's own."""
        roles = engine.view.roles.of(self.user, self.groups) if self.roles is None else self.roles
        return principal_set(self.user, self.groups, roles, self.owner)

    @property
    def tokens(self) -> dict[str, str]:
        """Values of the macros that are known."""
        known = {} if self.user is None else {_USER: self.user}
        return known | ({"OWNER": self.owner} if self.owner else {})


def exactly(value: str, options: LevelOptions) -> ResourceMatcher:
    """Return the matcher of one value, in which no character is special."""
    return ResourceMatcher(options, (value,), (ValueTest(PatternKind.EQUALS, value, False),), False, False, None)


@dataclass(frozen=True, slots=True)
class SubjectRulingMaker(RulingMaker):
    """Maker of rulings for one subject; given `values` of levels and a `context` of conditions are decided as well."""

    subject: Subject = Subject(None)
    mine: frozenset[str] = frozenset()
    values: Mapping[str, str] = field(default_factory=dict)
    context: ConditionContext | None = None
    _levels: dict[int, tuple[ResourceMatcher, ResourceMatcher]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        engine: PolicyEngine,
        subject: Subject,
        values: Mapping[str, str] | None = None,
        context: ConditionContext | None = None,
    ) -> SubjectRulingMaker:
        """Return the maker of an engine."""
        mine, roles = subject.principals(engine), engine.view.roles.names
        return cls(engine, AtomTable(), roles, subject=subject, mine=mine, values=values or {}, context=context)

    def principals(self, names: Iterable[str]) -> Formula:
        """Return True if the subject is one of the named principals; open only for the owner of the resource."""
        found = frozenset(names)
        if not self.mine.isdisjoint(found):
            return TRUE
        owns = OWNER in found and self.subject.may_own and self.subject.user is not None
        return self.table.principals(frozenset({OWNER})) if owns else FALSE

    def superuser(self) -> Formula:
        """Return True if the subject is never denied."""
        return TRUE if self.engine.view.privileged.is_super(self.subject.user, self.subject.groups) else FALSE

    def covering(self, resource: PolicyResourceMatcher, path: Path, *, macros: bool = True) -> Formula:
        """Return that the values of a path are covered by a resource, as far as both have levels."""
        common = min(len(path), len(resource.path))
        if path[:common] != resource.path[:common]:
            return FALSE
        levels = zip(path[:common], resource.elements, strict=False)
        return all_of(self._level(name, element, macros=macros) for name, element in levels)

    def _level(self, name: str, element: ResourceMatcher, *, macros: bool) -> Formula:
        if element.match_any:
            return FALSE if element.excludes else TRUE
        plain = self._known(element) if macros else without_macros(included(element))
        if name in self.values and not plain.dynamic:
            covered: Formula = TRUE if plain.covers(self.values[name], None) else FALSE
        else:
            covered = self.table.level(name, plain, macros=macros)
        return negated(covered) if element.excludes else covered

    def _known(self, element: ResourceMatcher) -> ResourceMatcher:
        """Return a matcher without its exclusion, and without macros if the values of all of them are known."""
        if not element.dynamic and not element.excludes:
            return element
        known = self._levels.get(id(element))
        if known is None:
            plain = included(element)
            if plain.dynamic and not (self.subject.may_own and _macros_of(plain) - {_USER}):
                plain = without_macros(plain, self.subject.tokens)
            # The element is kept, so that no other one gets its identity.
            known = self._levels[id(element)] = element, plain
        return known[1]

    def conditions(self, conditions: Iterable[SymbolicCondition], *, restricts: bool) -> Formula:
        """Return that all conditions apply on a side."""
        context = self.context
        if context is None:
            return RulingMaker.conditions(self, conditions, restricts=restricts)
        lenient = self.lenient
        held = all(
            c.holds(context, lenient=lenient) or (restricts and c.unknown(context, lenient=lenient)) for c in conditions
        )
        return TRUE if held else FALSE


class _AskedNames(dict[str, str]):
    """Values of macros that remember the names asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def get(self, name: str, default: object = None) -> None:  # type: ignore[override]
        """Note the name."""
        self.asked.add(name)


def _macros_of(element: ResourceMatcher) -> set[str]:
    """Return the names of the macros in a matcher."""
    names = _AskedNames()
    for test in element.tests:
        expand(test.text, element.options, names)
    return names.asked


@dataclass(slots=True)
class SubjectWitnessFinder(WitnessFinder):
    """Theory of the requests of one subject on one path for one access type."""

    subject: Subject = Subject(None)

    def __call__(self, literals: tuple[int, ...]) -> Witness | Contradiction:
        """Return a request that makes the literals true, or literals that cannot all be."""
        found = WitnessFinder.__call__(self, literals)
        if isinstance(found, Contradiction) or self.subject.roles is None:
            return found
        return replace(found, request=replaced(found.request, roles=self.subject.roles))

    def _people(self, literals: tuple[int, ...]) -> AccessRequest | Contradiction:
        if (never_known := self.table.never_known(literals)) is not None:
            return Contradiction((never_known,), certain=False)
        subject, owns = self.subject, self._owns(literals)
        owner = subject.user if owns else subject.owner
        return AccessRequest({}, "", user=subject.user, groups=subject.groups, owner=owner)

    def _owns(self, literals: tuple[int, ...]) -> bool | None:
        """Return that the subject owns the resource; None if that is open."""
        return next((n > 0 for n in literals if self.table[n].kind is AtomKind.PRINCIPALS), None)

    def _candidate_people(self, literals: tuple[int, ...], base: AccessRequest) -> Iterator[AccessRequest]:
        owns = self._owns(literals)
        matchers = (matcher for n in literals if (matcher := self.table[n].matcher) is not None)
        texts = dict.fromkeys(test.text for matcher in matchers for test in matcher.tests if not test.dynamic)
        yield base
        yield from (
            replaced(base, owner=owner)
            for owner in ((*texts, "the_owner", self.subject.user) if self.subject.may_own and not owns else ())
            if owner and not (owns is False and owner == self.subject.user)
        )


@dataclass(slots=True, eq=False)
class SubjectSearch(RequestSearch):
    """Searches for requests of one subject."""

    subject: Subject = field(kw_only=True)

    def finder(self, path: Path, access: str) -> SubjectWitnessFinder:
        """Return the finder of the subject's requests on a path for an access type."""
        maker = self.space.maker
        context_of, steps = self.space.engine.context_of, self.budget.value_steps
        return SubjectWitnessFinder(
            maker.table, path, access, self.access_time, context_of, maker.lenient, steps, subject=self.subject
        )


def search_of(
    space: PolicySpace, subject: Subject | None, budget: SearchBudget, access_time: int = DEFAULT_TIME
) -> RequestSearch:
    """Return the search for requests of a subject; without one, of anyone."""
    return (
        RequestSearch(space, budget, access_time)
        if subject is None
        else SubjectSearch(space, budget, access_time, subject=subject)
    )


class SubjectSpace(PolicySpace):
    """The policies of another space for one subject; what does not depend on the subject is shared with it."""

    def __init__(self, maker: SubjectRulingMaker, shared: PolicySpace) -> None:
        super().__init__(maker)
        self._shared = shared
        self._symbols = shared._symbols

    def near(self, zone: Zone, region: Region) -> list[PolicyEntry]:
        """Return the policies of a zone that may match a resource of the region, each once."""
        return self._shared.near(zone, region)

    @cached_property
    def occurrences(self) -> tuple[TagOccurrence, ...]:
        """Every tag of every resource; none without tag policies."""
        return self._shared.occurrences

    @cached_property
    def _tag_index(self) -> MeetingIndex[TagOccurrence]:
        return self._shared._tag_index
