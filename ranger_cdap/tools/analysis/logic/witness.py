"""Witnesses: a request that makes literals true, found level by level, and checked by evaluating it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ranger_cdap.engine import AccessRequest, ConditionContext, PolicyEngine
from ranger_cdap.engine.view import ANY_USER, OWNER, Path, ResourceMatcher, tokens_of
from ranger_cdap.keyed import remembered
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.tools.analysis.logic.atoms import Atom, AtomKind, AtomTable
from ranger_cdap.tools.analysis.logic.conditions import circumstances
from ranger_cdap.tools.analysis.logic.level_values import (
    Undecided,
    conflict,
    find_value,
    without_macros,
)
from ranger_cdap.tools.analysis.logic.solver import Contradiction

_SOMEONE: Final = "someone"
_MOST_NAMES: Final = 8


@dataclass(frozen=True, slots=True)
class Witness:
    """A request, and roles that no definition mentions and the user has; `is_opaque` if more than it decides."""

    request: AccessRequest
    roles: frozenset[str] = frozenset()
    is_opaque: bool = False

    def put_to(self, engine: PolicyEngine) -> bool:
        """Return True if the engine allows the request."""
        return engine.evaluate(self.request_to(engine)).allowed

    def request_to(self, engine: PolicyEngine) -> AccessRequest:
        """Return the request with the user's roles by the definitions of this engine, if others are added."""
        if not self.roles:
            return self.request
        defined = engine.view.roles.of(self.request.user, self.request.groups)
        return replaced(self.request, roles=defined | self.roles)


@dataclass(slots=True)
class WitnessFinder:
    """Theory of requests on one path for one access type; `lenient` as the engines' compatibility mode."""

    table: AtomTable
    path: Path
    access: str
    access_time: int
    context_of: Callable[[AccessRequest], ConditionContext]
    lenient: bool
    max_value_steps: int
    _values: dict[tuple[int, ...], str | Contradiction] = field(default_factory=dict)

    def __call__(self, literals: tuple[int, ...]) -> Witness | Contradiction:
        """Return a request that makes the literals true, or literals that cannot all be."""
        people = self._people(literals)
        if isinstance(people, Contradiction):
            return people
        resource: dict[str, str] = {}
        for name in self.path:
            value = self._value(self._of_level(literals, name, macros=False))
            if isinstance(value, Contradiction):
                return value
            resource[name] = value
        base = replaced(people, resource=resource, access_type=self.access, access_time=self.access_time)
        return self._with_macros(literals, base)

    def _of_level(self, literals: tuple[int, ...], name: str, *, macros: bool) -> tuple[int, ...]:
        def is_here(atom: Atom) -> bool:
            return atom.kind is AtomKind.LEVEL and atom.name == name and (macros or not atom.is_macro)

        return tuple(sorted(literal for literal in literals if is_here(self.table[literal])))

    def _people(self, literals: tuple[int, ...]) -> AccessRequest | Contradiction:
        of_kind = [(literal, self.table[literal]) for literal in literals]
        if (never_known := self.table.never_known(literals)) is not None:
            return Contradiction((never_known,), certain=False)
        people = [(literal, atom.principals) for literal, atom in of_kind if atom.kind is AtomKind.PRINCIPALS]
        wanted = [(literal, names) for literal, names in people if literal > 0]
        barred = frozenset[str]().union(*(names for literal, names in people if literal < 0))
        for user in _users(wanted, barred):
            request = _person(user, wanted, barred)
            if request is not None:
                return request
        return Contradiction(_clash(people))

    def _value(self, literals: tuple[int, ...]) -> str | Contradiction:
        return remembered(self._values, literals, lambda: self._found_value(literals))

    def _found_value(self, literals: tuple[int, ...]) -> str | Contradiction:
        inside, outside = [n for n in literals if n > 0], [n for n in literals if n < 0]
        covering, barred = ([_matcher(self.table[n]) for n in side] for side in (inside, outside))
        value = find_value(covering, barred, self.max_value_steps)
        if isinstance(value, str):
            return value
        if isinstance(value, Undecided):
            return Contradiction(literals, certain=False)
        ins, outs = conflict(covering, barred, self.max_value_steps)
        return Contradiction((*(inside[n] for n in ins), *(outside[n] for n in outs)))

    def _with_macros(self, literals: tuple[int, ...], base: AccessRequest) -> Witness | Contradiction:
        """Return a witness with levels that depend on macros, trying a few users and owners."""
        macros = tuple(literal for literal in literals if self.table[literal].is_macro)
        if not macros:
            return self._with_circumstances(literals, base)
        for request in self._candidate_people(literals, base):
            resource = dict(base.resource)
            for name in self.path:
                level = self._of_level(literals, name, macros=True)
                matchers: tuple[list[ResourceMatcher], list[ResourceMatcher]] = ([], [])
                for literal in level:
                    matchers[literal < 0].append(without_macros(_matcher(self.table[literal]), tokens_of(request)))
                value = find_value(*matchers, self.max_value_steps)
                if not isinstance(value, str):
                    break
                resource[name] = value
            else:
                return self._with_circumstances(literals, replaced(request, resource=resource))
        return Contradiction(literals, certain=False)

    def _candidate_people(self, literals: tuple[int, ...], base: AccessRequest) -> Iterator[AccessRequest]:
        """Yield the request with other users and owners that the literals permit: those that levels name."""
        atoms = [(literal, self.table[literal]) for literal in literals]
        texts = [test.text for _, a in atoms if a.matcher is not None for test in a.matcher.tests if not test.dynamic]
        named = [text for text in dict.fromkeys(texts) if text][:_MOST_NAMES]
        people = [(literal, a.principals) for literal, a in atoms if a.kind is AtomKind.PRINCIPALS]
        wanted = [(literal, names) for literal, names in people if literal > 0]
        barred = frozenset[str]().union(*(names for literal, names in people if literal < 0))
        for user in dict.fromkeys((base.user, *_users(wanted, barred), *named)):
            person = _person(user, wanted, barred)
            if person is not None and ("u:" + (user or "")) not in barred:
                person = replaced(base, user=person.user, groups=person.groups, roles=person.roles, owner=person.owner)
                yield person
                yield from (
                    replaced(person, owner=owner)
                    for owner in ((*named, "the_owner", user) if person.owner is None else ())
                    if owner != user or OWNER not in barred
                )

    def _with_circumstances(self, literals: tuple[int, ...], base: AccessRequest) -> Witness | Contradiction:
        """Return a witness from an address, at a time and in a context that fulfil the conditions."""
        kinds = (AtomKind.HOLDS, AtomKind.UNKNOWN)
        wanted = [(literal, self.table[literal]) for literal in literals if self.table[literal].kind in kinds]
        roles, base = base.roles or frozenset(), replaced(base, roles=None)
        if not wanted:
            return Witness(base, roles)
        conditions = list(dict.fromkeys(a.condition for _, a in wanted if a.condition is not None))
        is_opaque = any(condition.is_opaque for condition in conditions)
        for request in circumstances(conditions, base):
            context = self.context_of(request)
            if all(holds(atom, context, lenient=self.lenient) is (literal > 0) for literal, atom in wanted):
                return Witness(request, roles, is_opaque)
        return Contradiction(tuple(literal for literal, _ in wanted), certain=False)


def holds(atom: Atom, context: ConditionContext, *, lenient: bool) -> bool:
    """Return the value of an atom about a condition."""
    assert atom.condition is not None
    return (
        atom.condition.holds(context, lenient=lenient)
        if atom.kind is AtomKind.HOLDS
        else atom.condition.unknown(context, lenient=lenient)
    )


def _users(wanted: Sequence[tuple[int, frozenset[str]]], barred: frozenset[str]) -> Iterator[str | None]:
    """Yield users of whom one suits if any does: someone unnamed, or a member of a set that names no free group."""
    if ANY_USER in barred:
        yield None
        return
    yield _unlike(_SOMEONE, {name[2:] for name in barred})
    for _, names in wanted:
        users = sorted(name[2:] for name in names - barred if name.startswith("u:"))
        if users and not any(name.startswith(("g:", "r:")) or name in (ANY_USER, OWNER) for name in names - barred):
            yield from users
            return


def _person(
    user: str | None, wanted: Sequence[tuple[int, frozenset[str]]], barred: frozenset[str]
) -> AccessRequest | None:
    """Return a request of the user with few groups and undefined roles that makes them one of each wanted set."""
    mine = {"u:" + user, ANY_USER} if user is not None else set()
    if not mine.isdisjoint(barred):
        return None
    for _, names in wanted:
        if mine.isdisjoint(names):
            free = sorted(name for name in names - barred if name.startswith(("g:", "r:")))
            free += [OWNER] if OWNER in names - barred and user is not None else []
            if not free:
                return None
            mine.add(free[0])
    groups, roles = (frozenset(name[2:] for name in mine if name.startswith(kind)) for kind in ("g:", "r:"))
    return AccessRequest({}, "", user=user, groups=groups, roles=roles or None, owner=user if OWNER in mine else None)


def _clash(people: Sequence[tuple[int, frozenset[str]]]) -> tuple[int, ...]:
    """Return few of the literals about people that no user makes true."""
    kept = list(people)
    for one in people:
        rest = [other for other in kept if other is not one]
        wanted = [(literal, names) for literal, names in rest if literal > 0]
        barred = frozenset[str]().union(*(names for literal, names in rest if literal < 0))
        if all(_person(user, wanted, barred) is None for user in _users(wanted, barred)):
            kept = rest
    return tuple(literal for literal, _ in kept)


def _matcher(atom: Atom) -> ResourceMatcher:
    assert atom.matcher is not None
    return atom.matcher


def _unlike(name: str, barred: Sequence[str] | set[str]) -> str:
    while name in barred:
        name += "_"
    return name
