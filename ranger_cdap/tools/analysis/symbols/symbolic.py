"""One set of policies as symbols: what each policy denies and allows, as formulas over one table of atoms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from ranger_cdap.engine import ADMIN_ACCESS, PolicyEngine
from ranger_cdap.engine.view import (
    ALL_USERS,
    PUBLIC,
    USER_MACRO,
    CompiledPolicy,
    Item,
    Path,
    PolicyCompiler,
    PolicyEntry,
    PolicyResourceMatcher,
    ResourceTag,
    compile_schedules,
)
from ranger_cdap.keyed import remembered
from ranger_cdap.ranger_model.policy import Policy, PolicyItem
from ranger_cdap.tools.analysis.logic.atoms import AtomTable
from ranger_cdap.tools.analysis.logic.conditions import (
    SymbolicCondition,
    TagPlace,
    effectiveness,
    symbolic_conditions,
    validity,
)
from ranger_cdap.tools.analysis.logic.formula import FALSE, TRUE, Formula, all_of, any_of, negated

ALLOW: Final = "policyItems"
DENY: Final = "denyPolicyItems"
ALLOW_EXCEPTIONS: Final = "allowExceptions"
DENY_EXCEPTIONS: Final = "denyExceptions"

_IMPLIED_NAMES: Final = frozenset({"u:" + USER_MACRO, "g:" + PUBLIC})
"""Names that another name of the same item, the meaning of a macro, includes."""


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicItem:
    """A policy item by its list and its number in it, from 1; `document` is None in the substitute of a policy."""

    side: str
    number: int
    item: Item
    document: PolicyItem | None
    conditions: tuple[SymbolicCondition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicPolicy:
    """A compiled policy with its items and conditions as symbols."""

    policy: CompiledPolicy
    allow: tuple[SymbolicItem, ...]
    deny: tuple[SymbolicItem, ...]
    allow_exceptions: tuple[SymbolicItem, ...]
    deny_exceptions: tuple[SymbolicItem, ...]
    conditions: tuple[SymbolicCondition, ...]

    @property
    def can_deny(self) -> bool:
        """Return True if the policy can deny."""
        return bool(self.policy.has_deny or self.deny or self.policy.deny_all_else)


@dataclass(frozen=True, slots=True, eq=False)
class Ruling:
    """A policy's answer on one access type and path, as formulas.

    `candidate`: its resource matches; `considered`: its conditions hold as well, on one side at least. An allowing item
    allows where it and `open_to_allow` hold.
    """

    symbolic: SymbolicPolicy
    candidate: Formula
    considered: Formula
    denies: Formula
    allows: Formula
    denying_items: tuple[tuple[SymbolicItem, Formula], ...]
    allowing_items: tuple[tuple[SymbolicItem, Formula], ...]
    open_to_allow: Formula

    @property
    def policy(self) -> CompiledPolicy:
        """The compiled policy."""
        return self.symbolic.policy


@dataclass(frozen=True, slots=True)
class RulingMaker:
    """Maker of rulings for one engine."""

    engine: PolicyEngine
    table: AtomTable
    defined_roles: frozenset[str]
    """Roles that the definitions of either set mention; others are atoms of their own."""
    _roles: dict[str, frozenset[str]] = field(default_factory=dict)
    _items: dict[int, tuple[SymbolicItem, Formula]] = field(default_factory=dict)

    @property
    def lenient(self) -> bool:
        """Return True in compatibility mode `ranger`."""
        return not self.engine.view.options.fail_closed

    def covering(self, resource: PolicyResourceMatcher, path: Path, *, macros: bool = True) -> Formula:
        """Return that the values of a path are covered by a resource, as far as both have levels."""
        common = min(len(path), len(resource.path))
        if path[:common] != resource.path[:common]:
            return FALSE
        levels = zip(path[:common], resource.elements, strict=False)
        return all_of(self.table.level(name, element, macros=macros) for name, element in levels)

    def self_match(self, resource: PolicyResourceMatcher, path: Path, *, subtree: bool) -> Formula:
        """Return that a policy's resource is the requested one; with `subtree` also one above it."""
        if not resource.path and path:
            return TRUE if subtree else FALSE
        if len(path) > len(resource.path):
            return self.covering(resource, path) if subtree else FALSE
        if len(path) < len(resource.path) and (len(path) <= resource.last_specific or resource.matches_nothing):
            return FALSE
        return self.covering(resource, path)

    def principals(self, names: Iterable[str]) -> Formula:
        """Return that a user is one of the named principals; roles are replaced by their members."""
        found: set[str] = set()
        for name in names:
            if name.startswith("r:") and name[2:] in self.defined_roles:
                found |= self._members(name[2:])
            elif name not in _IMPLIED_NAMES:
                found.add(name)
        return self.table.principals(frozenset(found))

    def _members(self, role: str) -> frozenset[str]:
        if role not in self._roles:
            roles = self.engine.view.roles
            groups = roles.groups_of([role])
            names = {"u:" + user for user in roles.users_of([role])} | {"g:" + group for group in groups}
            self._roles[role] = frozenset(names | ({ALL_USERS} if PUBLIC in groups else set()))
        return self._roles[role]

    def conditions(self, conditions: Iterable[SymbolicCondition], *, restricts: bool) -> Formula:
        """Return that all conditions apply on a side."""
        return all_of(
            any_of(self.table.condition(condition, restricts=restricts, lenient=self.lenient))
            for condition in conditions
        )

    def item(self, item: SymbolicItem, access: str, *, restricts: bool) -> Formula:
        """Return that an item matches the user, the access type and the circumstances."""
        if not item.item.covers(access):
            return FALSE
        _, who = remembered(self._items, id(item), lambda: (item, self.principals(item.item.principals)))
        return who if access == ADMIN_ACCESS else all_of((who, self.conditions(item.conditions, restricts=restricts)))

    def ruling(
        self,
        symbolic: SymbolicPolicy,
        candidate: Formula,
        access: str,
        *,
        certain: bool = True,
        period: tuple[SymbolicCondition, ...] = (),
    ) -> Ruling:
        """Return the answer of a policy; one by a tag that is not `certain`, or not in its `period`, can only deny."""
        policy = symbolic.policy
        given = (*period, *symbolic.conditions)
        restricting = all_of((candidate, self.conditions(given, restricts=True)))
        granting = all_of((candidate, self.conditions(given, restricts=False))) if certain else FALSE

        def items(found: tuple[SymbolicItem, ...], restricts: bool) -> Formula:
            """Return that one of the items matches; those without conditions are one set of principals."""
            covering = [one for one in found if one.item.covers(access)]
            plain = [one for one in covering if access == ADMIN_ACCESS or not one.conditions]
            names = self.principals(name for one in plain for name in one.item.principals)
            return any_of(
                (names, *(self.item(one, access, restricts=restricts) for one in covering if one not in plain))
            )

        spared = negated(all_of((granting, items(symbolic.deny_exceptions, False))))
        denying = [(one, self.item(one, access, restricts=True)) for one in symbolic.deny]
        by_items = all_of((restricting, spared, items(symbolic.deny, True)))
        excepted = negated(items(symbolic.allow_exceptions, True)) if granting is not FALSE else TRUE
        allowing = [(one, self.item(one, access, restricts=False)) for one in symbolic.allow]
        open_ = all_of((granting, excepted, negated(by_items)))
        allows = all_of((open_, items(symbolic.allow, False)))
        all_else = all_of((restricting, negated(allows), negated(by_items))) if policy.deny_all_else else FALSE
        return Ruling(
            symbolic,
            candidate,
            any_of((restricting, granting)),
            any_of((by_items, all_else)),
            allows,
            tuple((one, formula) for one, formula in denying if formula is not FALSE),
            tuple((one, formula) for one, formula in allowing if formula is not FALSE),
            open_,
        )

    def tag_period(self, tag: ResourceTag) -> tuple[SymbolicCondition, ...]:
        """Return the validity of a tag as a condition."""
        return (effectiveness(tag.type, tag.schedules, lenient=self.lenient),) if tag.schedules else ()

    def superuser(self) -> Formula:
        """Return that the user is never denied."""
        given = self.engine.view.privileged
        names = [*("u:" + user for user in given.super_users), *("g:" + group for group in given.super_groups)]
        return self.table.principals(frozenset(names))


@dataclass(slots=True)
class SymbolicPolicies:
    """Symbols of policies, made when first needed."""

    _known: dict[tuple[int, TagPlace | None], tuple[CompiledPolicy, SymbolicPolicy]] = field(default_factory=dict)

    def of(
        self, compiled: CompiledPolicy, entry: PolicyEntry, compiler: PolicyCompiler, tag: TagPlace | None = None
    ) -> SymbolicPolicy:
        """Return a policy of this entry as symbols."""
        key = (id(compiled), tag)
        return remembered(self._known, key, lambda: (compiled, _symbolic(compiled, entry, compiler, tag)))[1]


def _symbolic(
    compiled: CompiledPolicy, entry: PolicyEntry, compiler: PolicyCompiler, tag: TagPlace | None
) -> SymbolicPolicy:
    document = None if compiled.substitute_reason else compiler.decode(entry.raw)
    lists = document.item_lists() if document is not None else {}

    def items(side: str, found: tuple[Item, ...]) -> Iterator[SymbolicItem]:
        documents = lists.get(side, [])
        for n, item in enumerate(found):
            given = documents[n] if documents else None
            conditions = symbolic_conditions(given.conditions, compiler.item_compiler, tag) if given else ()
            yield SymbolicItem(side, n + 1, item, given, conditions)

    return SymbolicPolicy(
        compiled,
        tuple(items(ALLOW, compiled.allow)),
        tuple(items(DENY, compiled.deny)),
        tuple(items(ALLOW_EXCEPTIONS, compiled.allow_exceptions)),
        tuple(items(DENY_EXCEPTIONS, compiled.deny_exceptions)),
        tuple(_policy_conditions(document, compiled, compiler, tag)) if document is not None else (),
    )


def _policy_conditions(
    document: Policy, compiled: CompiledPolicy, compiler: PolicyCompiler, tag: TagPlace | None
) -> Iterator[SymbolicCondition]:
    if document.validity_schedules:
        schedules = compile_schedules(document.validity_schedules, lenient=not compiler.fail_closed)
        yield validity(document.validity_schedules, compiled.conditions[0], schedules)
    yield from symbolic_conditions(document.conditions, compiler.item_compiler, tag)
