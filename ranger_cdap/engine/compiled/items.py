"""Policy items: who, what, under which conditions (ranger-semantics.md §7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ranger_cdap.engine.compiled.conditions import (
    Circumstances,
    Condition,
    ConditionMaker,
    Outcome,
    Reading,
    compile_condition,
)
from ranger_cdap.engine.compiled.java import fold
from ranger_cdap.engine.compiled.service_def import ServiceModel
from ranger_cdap.engine.model import wire
from ranger_cdap.engine.model.request import ADMIN_ACCESS

PUBLIC = "public"
USER_MACRO = "{USER}"
OWNER_MACRO = "{OWNER}"

EVERYBODY = "*everybody"
ANY_USER = "*user"
OWNER = "*owner"

_MACROS = {USER_MACRO: ANY_USER, OWNER_MACRO: OWNER}


def principals(user: str | None, groups: Iterable[str], roles: Iterable[str], owner: str | None) -> frozenset[str]:
    """Everything somebody is, in the words items are compiled to: one set, so that *who* is one intersection."""
    names = [EVERYBODY, *("g:" + g for g in groups), *("r:" + r for r in roles)]
    if user is not None:
        names += ("u:" + user, ANY_USER)
        if user == owner:
            names.append(OWNER)
    return frozenset(names)


@dataclass(frozen=True, slots=True)
class Item:
    """An item made ready; `every` means any access type at all."""

    who: frozenset[str]
    accesses: frozenset[str]
    every: bool
    delegate_admin: bool
    conditions: tuple[Condition, ...]

    @property
    def names_groups(self) -> bool:
        """Whether who it is about depends on groups: it names one, or a role, which may have groups."""
        return any(name.startswith(("g:", "r:")) for name in self.who)

    def gives(self, access: str) -> bool:
        """Whether the item speaks of that access type."""
        if access == ADMIN_ACCESS:
            return self.delegate_admin
        return self.every or access in self.accesses


@dataclass(frozen=True, slots=True)
class ItemRules:
    """How the items of a service's policies are read.

    With `cautious`, an access type nobody knows makes a deny item or allow exception speak of every access type:
    what cannot be evaluated never allows more.
    """

    model: ServiceModel
    cautious: bool
    added: Mapping[str, ConditionMaker] = field(default_factory=dict)

    def compile(self, items: Iterable[wire.PolicyItem], *, restricts: bool) -> tuple[Item, ...]:
        """The items of one list; `restricts` for deny items and allow exceptions."""
        return tuple(self._compile(item, restricts) for item in items)

    def _compile(self, item: wire.PolicyItem, restricts: bool) -> Item:
        accesses = implied(item.accesses, self.model.implied)
        unknown = any(a.isAllowed and a.type not in self.model.known_accesses for a in item.accesses)
        return Item(
            who=principals_of(item.users, item.groups, item.roles),
            accesses=accesses,
            every=unknown and restricts and self.cautious,
            delegate_admin=item.delegateAdmin,
            conditions=self.conditions(item.conditions),
        )

    def conditions(self, conditions: Iterable[wire.PolicyItemCondition]) -> tuple[Condition, ...]:
        """Conditions as functions; one that cannot be evaluated is unknown, or dropped where Java is followed."""
        compiled = (compile_condition(self.model.conditions.get(c.type), c.values, self._reading) for c in conditions)
        return tuple(c or _unknown for c in compiled if c or self.cautious)

    def can_evaluate(self, condition: wire.PolicyItemCondition) -> bool:
        """Whether a condition can be evaluated at all."""
        definition = self.model.conditions.get(condition.type)
        return compile_condition(definition, condition.values, self._reading) is not None

    @property
    def _reading(self) -> Reading:
        return Reading(lenient=not self.cautious, added=self.added)

    def hold(self, conditions: tuple[Condition, ...], circumstances: Circumstances, *, restricts: bool) -> bool:
        """Whether all conditions hold; one that cannot be judged holds where that only takes access away."""
        for condition in conditions:
            outcome = condition(circumstances)
            if outcome is Outcome.HOLDS:
                continue
            if outcome is Outcome.FAILS:
                return False
            if not (restricts if self.cautious else outcome is Outcome.UNKNOWN_HOLDS):
                return False
        return True


def _unknown(_: Circumstances) -> Outcome:
    return Outcome.UNKNOWN_HOLDS


def implied(accesses: Sequence[wire.PolicyItemAccess], grants: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """The access types allowed by an item, with what they imply: one pass in Java's order (§7.4)."""
    first: dict[str, bool] = {}
    granted = {access.type for access in accesses if access.isAllowed}
    for access in accesses:
        first.setdefault(access.type, access.isAllowed)  # the first mention of a type decides what it implies
    for name, others in grants.items():
        folded = fold(name)
        held = next((allowed for type_, allowed in first.items() if fold(type_) == folded), None)
        if held is not None:
            for other in others:
                first[other] = first.get(other, False) or held
    return frozenset(granted | {name for name, allowed in first.items() if allowed})


def principals_of(users: Iterable[str], groups: Iterable[str], roles: Iterable[str]) -> frozenset[str]:
    """Names of an item, or of an audit filter, in the same words as `principals`."""
    names = ["r:" + role for role in roles]
    for group in groups:
        names.append("g:" + group)
        if group == PUBLIC:
            names.append(EVERYBODY)
    for user in users:
        names.append("u:" + user)
        if user in _MACROS:
            names.append(_MACROS[user])
    return frozenset(names)
