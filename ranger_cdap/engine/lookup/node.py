"""The policies of one resource, as an ordered list of steps for each access type in which the first hit wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ranger_cdap.engine.compiled.items import EVERYBODY, Item
from ranger_cdap.engine.compiled.load import Record
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.model.decision import DENY_ALL_ELSE, NO_POLICY, Decision

Names = frozenset[str]
Step = tuple[Names, Names, Decision]
"""Who, except whom, and what they are told."""

_EVERYBODY: Names = frozenset({EVERYBODY})
_NOBODY: Names = frozenset()
_MOST_ACCESSES = 64


class Node:
    """Policies that hold for a resource, in their order. `conditional` ones need the general evaluator.

    `ready`: the steps for the access types that were asked so far. `otherwise`: what those are told of whom no step
    speaks.
    """

    __slots__ = (
        "_about",
        "_any_steps",
        "audit_policy_id",
        "conditional",
        "denies",
        "otherwise",
        "policies",
        "ready",
        "records",
        "sure",
    )

    def __init__(self, policies: tuple[CompiledPolicy, ...], records: frozenset[Record]) -> None:
        self.policies = policies
        self.records = records
        self.conditional = any(p.conditional for p in policies)
        self.audit_policy_id = next((p.id for p in policies if p.audited), None)
        self.otherwise = self._told(False)
        self.ready: dict[str, tuple[Step, ...]] = {}
        self._any_steps: tuple[Step, ...] | None = None
        self._about: dict[str, tuple[int, ...]] | None = None
        # Whether each policy holds for whatever the node was found for, and whether one of them can deny.
        self.sure = not any(p.broad or len(p.resources) != 1 for p in policies)
        self.denies = any(p.has_deny or p.deny or p.deny_all_else for p in policies)

    def steps(self, access: str) -> tuple[Step, ...]:
        """The steps for an access type: by priority, denials before allows; nobody can add types without end."""
        steps = self.ready.get(access)
        if steps is None:
            steps = tuple(self._steps(access))
            if len(self.ready) < _MOST_ACCESSES:
                self.ready[access] = steps
        return steps

    def any_steps(self, accesses: Sequence[str]) -> tuple[Step, ...]:
        """The steps for any of the access types where nothing denies: the first policy that gives one wins."""
        if self._any_steps is None:
            self._any_steps = tuple(self._allowing_any(accesses))
        return self._any_steps

    def about(self, who: Names) -> list[int]:
        """The places of the policies that may say something of somebody who is all of these, in order."""
        if self._about is None:
            self._about = _places(self.policies)
        found: set[int] = set()
        for name in who:
            found.update(self._about.get(name, ()))
        return sorted(found)

    def _told(self, allowed: bool, policy: CompiledPolicy | None = None, reason: str = "") -> Decision:
        return Decision(
            allowed=allowed,
            determined=True,
            policy_id=policy.id if policy else NO_POLICY,
            policy_version=policy.version if policy else NO_POLICY,
            policy_priority=policy.priority if policy else 0,
            audited=self.audit_policy_id is not None,
            audit_policy_id=NO_POLICY if self.audit_policy_id is None else self.audit_policy_id,
            reason=reason,
        )

    def _steps(self, access: str) -> Iterator[Step]:
        for _, group in groupby(self.policies, key=lambda p: p.priority):
            equals = list(group)
            for policy in equals:
                yield from self._denials(policy, access)
            for policy in equals:
                who = _who(policy.allow, access)
                if who:
                    yield who, _who(policy.allow_exceptions, access), self._told(True, policy)

    def _denials(self, policy: CompiledPolicy, access: str) -> Iterator[Step]:
        who = _who(policy.deny, access)
        if who:
            yield who, _who(policy.deny_exceptions, access), self._told(False, policy, policy.broken)
        if policy.deny_all_else:
            told = self._told(False, policy, DENY_ALL_ELSE)
            yield _EVERYBODY, _who(policy.allow, access), told
            excepted = _who(policy.allow_exceptions, access)
            if excepted:
                yield excepted, _NOBODY, told

    def _allowing_any(self, accesses: Sequence[str]) -> Iterator[Step]:
        for policy in self.policies:
            given = ((_who(policy.allow, access), _who(policy.allow_exceptions, access)) for access in accesses)
            for who, excepted in dict.fromkeys(given):
                if who:
                    yield who, excepted, self._told(True, policy)


def _places(policies: tuple[CompiledPolicy, ...]) -> dict[str, tuple[int, ...]]:
    places: dict[str, list[int]] = {}
    for place, policy in enumerate(policies):
        for name in _EVERYBODY if policy.deny_all_else else policy.names:
            places.setdefault(name, []).append(place)
    return {name: tuple(found) for name, found in places.items()}


def _who(items: tuple[Item, ...], access: str) -> Names:
    return frozenset().union(*[item.who for item in items if item.gives(access)])
