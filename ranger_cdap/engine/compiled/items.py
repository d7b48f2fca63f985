"""Policy items: principals, access types and conditions (ranger-semantics.md §7)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from ranger_cdap.engine.compiled.conditions import (
    Condition,
    ConditionContext,
    ConditionFactory,
    ConditionOptions,
    ConditionOutcome,
    compile_condition,
    reason_against,
)
from ranger_cdap.engine.compiled.java import fold
from ranger_cdap.engine.compiled.service_def import ServiceModel
from ranger_cdap.engine.model.request import ADMIN_ACCESS
from ranger_cdap.ranger_model.policy import PolicyItem, PolicyItemAccess, PolicyItemCondition

PUBLIC = "public"
USER_MACRO = "{USER}"
OWNER_MACRO = "{OWNER}"

ALL_USERS = "*all"
ANY_USER = "*user"
OWNER = "*owner"

_MEANINGS = {"u:" + USER_MACRO: ANY_USER, "u:" + OWNER_MACRO: OWNER, "g:" + PUBLIC: ALL_USERS}
_MEANING_MORE = frozenset(_MEANINGS)


def principal_set(user: str | None, groups: Iterable[str], roles: Iterable[str], owner: str | None) -> frozenset[str]:
    """Return the principal set of a user (user, groups, roles), so that an item matches by one set intersection."""
    names = [ALL_USERS, *("g:" + g for g in groups), *("r:" + r for r in roles)]
    if user is not None:
        names += ("u:" + user, ANY_USER)
        if user == owner:
            names.append(OWNER)
    return frozenset(names)


class Item(msgspec.Struct, frozen=True, gc=False):
    """Compiled policy item; with `covers_all` it covers every access type."""

    principals: frozenset[str]
    accesses: frozenset[str]
    covers_all: bool
    delegate_admin: bool
    conditions: tuple[Condition, ...]

    @property
    def names_groups(self) -> bool:
        """Return True if the item names a group, or a role, which may contain groups."""
        return any(name.startswith(("g:", "r:")) for name in self.principals)

    def covers(self, access: str) -> bool:
        """Return True if the item covers an access type."""
        if access == ADMIN_ACCESS:
            return self.delegate_admin
        return self.covers_all or access in self.accesses


@dataclass(frozen=True, slots=True)
class ItemCompiler:
    """Compiler of the policy items of a service, and evaluator of their conditions.

    With `fail_closed`, a deny item or allow exception with an unknown access type covers every access type: what cannot
    be evaluated never allows more.
    """

    model: ServiceModel
    fail_closed: bool
    custom: Mapping[str, ConditionFactory]

    def compile(self, items: Collection[PolicyItem], *, restricts: bool) -> tuple[Item, ...]:
        """Compile the items of one list; `restricts` is true for deny items and allow exceptions."""
        return tuple([self._compile(item, restricts) for item in items]) if items else ()

    def _compile(self, item: PolicyItem, restricts: bool) -> Item:
        known = self.model.known_access_types
        unbounded = restricts and self.fail_closed
        return Item(
            named_principals(item.users, item.groups, item.roles),
            implied(item.accesses, self.model.implied),
            unbounded and any(a.is_allowed and a.type not in known for a in item.accesses),
            item.delegate_admin,
            self.conditions(item.conditions) if item.conditions else (),
        )

    def conditions(self, conditions: Collection[PolicyItemCondition]) -> tuple[Condition, ...]:
        """Compile conditions; one that cannot be evaluated is unknown, or dropped in compatibility mode `ranger`."""
        if not conditions:
            return ()
        compiled = ((self._condition(c), c) for c in conditions)
        return tuple(found or _unknown for found, c in compiled if found or not self.drops(c))

    def can_evaluate(self, condition: PolicyItemCondition) -> bool:
        """Return True if a condition can be evaluated."""
        return self._condition(condition) is not None

    def reason_against(self, condition: PolicyItemCondition) -> str:
        """Return why a condition cannot be evaluated; empty if its kind is unknown, or does not say."""
        return reason_against(self.model.conditions.get(condition.type), condition.values, self._options)

    def drops(self, condition: PolicyItemCondition) -> bool:
        """Return True if a condition that cannot be evaluated is dropped, as in Java.

        One that a factory rejects never is: Java may evaluate it.
        """
        definition = self.model.conditions.get(condition.type)
        return not self.fail_closed and (definition is None or definition.evaluator not in self.custom)

    def _condition(self, condition: PolicyItemCondition) -> Condition | None:
        return compile_condition(self.model.conditions.get(condition.type), condition.values, self._options)

    @property
    def _options(self) -> ConditionOptions:
        return ConditionOptions(lenient=not self.fail_closed, custom=self.custom)

    def is_custom(self, condition: PolicyItemCondition) -> bool:
        """Return True if a factory makes the condition."""
        definition = self.model.conditions.get(condition.type)
        return definition is not None and definition.evaluator in self.custom

    def conditions_hold(
        self, conditions: tuple[Condition, ...], outcome_of: Callable[[Condition], ConditionOutcome], *, restricts: bool
    ) -> bool:
        """Return True if all conditions hold; an unknown one holds if it only restricts access."""
        for condition in conditions:
            outcome = outcome_of(condition)
            if outcome is ConditionOutcome.HOLDS:
                continue
            if outcome is ConditionOutcome.FAILS:
                return False
            if self.fail_closed or outcome is ConditionOutcome.UNKNOWN:
                if not restricts:
                    return False
            elif outcome is not ConditionOutcome.UNKNOWN_HOLDS:
                return False
        return True


def _unknown(_: ConditionContext) -> ConditionOutcome:
    return ConditionOutcome.UNKNOWN


def implied(accesses: Sequence[PolicyItemAccess], grants: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """Return the access types an item allows, with their implied grants: one pass in Java's order (§7.4)."""
    granted = {access.type for access in accesses if access.is_allowed}
    if not grants:
        return _interned(frozenset(granted))
    first: dict[str, bool] = {}
    for access in accesses:
        first.setdefault(access.type, access.is_allowed)  # the first occurrence of a type determines what it implies
    for name, others in grants.items():
        folded = fold(name)
        held = next((allowed for type_, allowed in first.items() if fold(type_) == folded), None)
        if held is not None:
            for other in others:
                first[other] = first.get(other, False) or held
    return _interned(frozenset(granted | {name for name, allowed in first.items() if allowed}))


@lru_cache(maxsize=1024)
def _interned(accesses: frozenset[str]) -> frozenset[str]:
    """Return the same object for equal access types: there are few sets of them, and one for each item."""
    return accesses


def named_principals(users: Iterable[str], groups: Iterable[str], roles: Iterable[str]) -> frozenset[str]:
    """Return the names of an item, or of an audit filter, in the form that `principal_set` uses."""
    names = ["u:" + user for user in users]
    names += ["g:" + group for group in groups]
    names += ["r:" + role for role in roles]
    found = frozenset(names)
    if not _MEANING_MORE.isdisjoint(found):
        found |= {meant for name, meant in _MEANINGS.items() if name in found}
    return found
