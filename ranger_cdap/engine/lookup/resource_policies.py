"""Policies of one resource, as an ordered list of rules per access type; the first matching rule decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from ranger_cdap.engine.compiled.items import ALL_USERS, Item
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.model.decision import DENY_ALL_ELSE, NO_POLICY, Decision
from ranger_cdap.keyed import grouped

Principals = frozenset[str]
Rule = tuple[Principals, Principals, Decision]
"""Principals, excepted principals, decision."""

_ALL_USERS: Principals = frozenset({ALL_USERS})
_NO_PRINCIPALS: Principals = frozenset()
_MAX_ACCESS_TYPES = 64


class ResourcePolicies:
    """Policies that match a resource, in order of evaluation; if `conditional`, they need the general evaluator.

    `cached_rules` holds the rules of the access types requested so far; `default` is the decision if no rule matches.
    """

    __slots__ = (
        "_any_access_rules",
        "_positions_by_name",
        "audit_policy_id",
        "cached_rules",
        "can_deny",
        "conditional",
        "default",
        "policies",
        "unconditional_match",
    )

    def __init__(self, policies: tuple[CompiledPolicy, ...]) -> None:
        self.policies = policies
        self.conditional = False
        self.audit_policy_id: int | None = None
        self.unconditional_match = True
        """True if every policy matches without testing its resource."""
        self.can_deny = False
        """True if some policy can deny."""
        for policy in policies:
            if policy.audited and self.audit_policy_id is None:
                self.audit_policy_id = policy.id
            if policy.conditional:
                self.conditional = True
            if policy.covers_subtree or len(policy.resources) != 1:
                self.unconditional_match = False
            if policy.has_deny or policy.deny or policy.deny_all_else:
                self.can_deny = True
        self.default = self._decision(False)
        self.cached_rules: dict[str, tuple[Rule, ...]] = {}
        self._any_access_rules: tuple[Rule, ...] | None = None
        self._positions_by_name: dict[str, tuple[int, ...]] | None = None

    def rules(self, access: str) -> tuple[Rule, ...]:
        """Return the rules of an access type: by priority, denials before allows. The cache is bounded."""
        rules = self.cached_rules.get(access)
        if rules is None:
            rules = self._rules_of(access)
            if len(self.cached_rules) < _MAX_ACCESS_TYPES:
                self.cached_rules[access] = rules
        return rules

    def any_access_rules(self, accesses: Sequence[str]) -> tuple[Rule, ...]:
        """Return the rules for any of the access types if no policy denies: the first policy to allow one decides."""
        if self._any_access_rules is None:
            self._any_access_rules = tuple(self._build_any_access_rules(accesses))
        return self._any_access_rules

    def relevant_to(self, principals: Principals) -> list[int]:
        """Return the positions of the policies that may apply to a principal set, in order."""
        if self._positions_by_name is None:
            self._positions_by_name = _positions(self.policies)
        found: set[int] = set()
        for name in principals:
            found.update(self._positions_by_name.get(name, ()))
        return sorted(found)

    def _decision(self, allowed: bool, policy: CompiledPolicy | None = None, reason: str = "") -> Decision:
        audited, audit_policy_id = self.audit_policy_id is not None, self.audit_policy_id
        return Decision(
            allowed,
            True,
            policy.id if policy else NO_POLICY,
            policy.version if policy else NO_POLICY,
            policy.priority if policy else 0,
            audited,
            NO_POLICY if audit_policy_id is None else audit_policy_id,
            reason,
            policy_zone=policy.zone if policy else None,
        )

    def _rules_of(self, access: str) -> tuple[Rule, ...]:
        rules: list[Rule] = []
        if not self.can_deny:
            self._add_allowances(self.policies, access, rules)
            return tuple(rules)
        for _, group in groupby(self.policies, key=lambda p: p.priority):
            same_priority = list(group)
            for policy in same_priority:
                rules += self._denials(policy, access)
            self._add_allowances(same_priority, access, rules)
        return tuple(rules)

    def _add_allowances(self, policies: Iterable[CompiledPolicy], access: str, rules: list[Rule]) -> None:
        for policy in policies:
            principals = _principals_of(policy.allow, access)
            if principals:
                excepted = (
                    _principals_of(policy.allow_exceptions, access) if policy.allow_exceptions else _NO_PRINCIPALS
                )
                rules.append((principals, excepted, self._decision(True, policy)))

    def _denials(self, policy: CompiledPolicy, access: str) -> Iterator[Rule]:
        principals = _principals_of(policy.deny, access)
        if principals:
            yield (
                principals,
                _principals_of(policy.deny_exceptions, access),
                self._decision(False, policy, policy.substitute_reason),
            )
        if policy.deny_all_else:
            decision = self._decision(False, policy, DENY_ALL_ELSE)
            yield _ALL_USERS, _principals_of(policy.allow, access), decision
            excepted = _principals_of(policy.allow_exceptions, access)
            if excepted:
                yield excepted, _NO_PRINCIPALS, decision

    def _build_any_access_rules(self, accesses: Sequence[str]) -> Iterator[Rule]:
        for policy in self.policies:
            pairs = (
                (_principals_of(policy.allow, access), _principals_of(policy.allow_exceptions, access))
                for access in accesses
            )
            for principals, excepted in dict.fromkeys(pairs):
                if principals:
                    yield principals, excepted, self._decision(True, policy)


def _positions(policies: tuple[CompiledPolicy, ...]) -> dict[str, tuple[int, ...]]:
    positions = grouped(
        (name, position)
        for position, policy in enumerate(policies)
        for name in (_ALL_USERS if policy.deny_all_else else policy.principals)
    )
    return {name: tuple(found) for name, found in positions.items()}


def _principals_of(items: tuple[Item, ...], access: str) -> Principals:
    if not items:
        return _NO_PRINCIPALS
    if len(items) == 1:
        return items[0].principals if items[0].covers(access) else _NO_PRINCIPALS
    return frozenset().union(*[item.principals for item in items if item.covers(access)])


NO_POLICIES = ResourcePolicies(())
"""Policies of a resource that none match."""
