"""Atoms of the formulas: what they say of a request, and one numbering for two sets of policies."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from enum import Enum

from ranger_cdap.engine.view import ALL_USERS, ResourceMatcher
from ranger_cdap.tools.analysis.logic.conditions import SymbolicCondition
from ranger_cdap.tools.analysis.logic.formula import FALSE, TRUE, Formula
from ranger_cdap.tools.analysis.logic.level_values import included, without_macros


class AtomKind(Enum):
    """Kinds of atom."""

    LEVEL = "the value of a level is covered by a matcher"
    PRINCIPALS = "the user is one of these principals"
    HOLDS = "a condition holds"
    UNKNOWN = "a condition lacks a value"
    TOO_LONG = "the resource is so long that a policy is not matched"
    ZONE = "the resource is in a zone of unknown resources"


@dataclass(frozen=True, slots=True)
class Atom:
    """An atom: its kind, the name it is about, and the object that decides it.

    `principals` are names in the form of the engine's `principal_set`; roles are among them only if undefined.
    """

    kind: AtomKind
    name: str
    matcher: ResourceMatcher | None = None
    condition: SymbolicCondition | None = None
    principals: frozenset[str] = frozenset()

    @property
    def is_macro(self) -> bool:
        """Return True if the matcher depends on macros."""
        return self.matcher is not None and self.matcher.dynamic


@dataclass(slots=True)
class AtomTable:
    """Atoms by number, from 1."""

    atoms: list[Atom] = field(default_factory=list)
    _numbers: dict[Hashable, int] = field(default_factory=dict)
    _levels: dict[tuple[str, int, bool], tuple[ResourceMatcher, Formula]] = field(default_factory=dict)

    def __getitem__(self, number: int) -> Atom:
        return self.atoms[abs(number) - 1]

    def _number(self, key: Hashable, atom: Atom) -> int:
        number = self._numbers.get(key)
        if number is None:
            self.atoms.append(atom)
            number = self._numbers[key] = len(self.atoms)
        return number

    def level(self, name: str, element: ResourceMatcher, *, macros: bool = True) -> Formula:
        """Return that a matcher covers the level; without `macros` they are compared as they are written."""
        if element.match_any:
            return FALSE if element.excludes else TRUE
        known = self._levels.get((name, id(element), macros))
        if known is None:
            plain = included(element)
            plain = plain if macros else without_macros(plain)
            key = ("level", name, plain.options, plain.tests, plain.prefixes if plain.options.recursive else None)
            number = self._number(key, Atom(AtomKind.LEVEL, name, plain))
            # The element is kept, so that no other one gets its identity.
            known = self._levels[name, id(element), macros] = element, -number if element.excludes else number
        return known[1]

    def principals(self, names: frozenset[str]) -> Formula:
        """Return that the principal set of the user contains one of the names."""
        if ALL_USERS in names:
            return TRUE
        return self._number(names, Atom(AtomKind.PRINCIPALS, "", principals=names)) if names else FALSE

    def condition(self, condition: SymbolicCondition, *, restricts: bool, lenient: bool) -> tuple[Formula, ...]:
        """Return the disjuncts that let a condition apply on a restricting or a granting side."""
        kinds = [] if condition.never else [AtomKind.HOLDS]
        kinds += [AtomKind.UNKNOWN] if restricts and condition.may_be_unknown(lenient=lenient) else []
        return tuple(
            self._number((kind.value, condition.key), Atom(kind, condition.text, None, condition)) for kind in kinds
        )

    def never_known(self, literals: Iterable[int]) -> int | None:
        """Return a literal that no request decides: that a resource is too long, or in a zone of unknown resources."""
        kinds = ((n, self[n].kind) for n in literals)
        return next((n for n, kind in kinds if kind is AtomKind.ZONE or (kind is AtomKind.TOO_LONG and n > 0)), None)

    def in_zone(self, zone: str) -> int:
        """Return that a resource is in a zone whose resources are not known."""
        return self._number(("zone", zone), Atom(AtomKind.ZONE, zone))

    def too_long(self, policy: str, key: Hashable) -> int:
        """Return that a resource is so long that a policy is not matched with it."""
        return self._number(("too long", key), Atom(AtomKind.TOO_LONG, policy))
