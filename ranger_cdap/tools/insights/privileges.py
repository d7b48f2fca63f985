"""Privileges that policies give, by person, and those that no one used. Pure.

A privilege is an access type of an allow item, for one person. It is used if an allowed access of that person was
decided by the policy, as recorded or as the policies decide now; what another policy decides first is no use of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.engine.view import OWNER_MACRO, PUBLIC, USER_MACRO, implied
from ranger_cdap.keyed import grouped_once
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess
from ranger_cdap.tools.insights.facts import AuditFacts
from ranger_cdap.tools.insights.table import ColumnKind, InsightTable

EVERYBODY: Final = "(everybody)"
OWNERS: Final = "(owners)"

_ACCESS_POLICY: Final = 0
_ANY: Final = frozenset({"any", "visible", "_any"})
"""Access types of requests that any privilege satisfies."""


@dataclass(frozen=True, slots=True)
class HeldPrivileges:
    """Access types that an item, by its number from 1, gives to a person; `through` is how it names them.

    `person` is None where people cannot be enumerated: everybody, owners, the members of an unknown group.
    """

    policy: Policy
    item: int
    person: str | None
    through: str
    accesses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Members:
    """Known users by their groups and by their roles."""

    groups: Mapping[str, frozenset[str]]
    roles: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, index: PolicyIndex, groups: Mapping[str, frozenset[str]]) -> Members:
        """Return the members of all groups and roles; `groups` are those of each known user."""
        of_group = grouped_once((group, user) for user, names in groups.items() for group in names)
        of_role = grouped_once((role, user) for user, names in groups.items() for role in index.roles.of(user, names))
        for policy in index.policies.values():
            for role in {role for item in policy.policy_items for role in item.roles}:
                of_role[role] = of_role.get(role, set()) | index.roles.users_of({role})
        return cls(*({name: frozenset(users) for name, users in found.items()} for found in (of_group, of_role)))


def held_privileges(index: PolicyIndex, members: Members) -> Iterator[HeldPrivileges]:
    """Yield what each allow item of each enabled policy gives to whom, the policies by id."""
    for _, policy in sorted(index.policies.items()):
        if not policy.is_enabled or policy.policy_type != _ACCESS_POLICY:
            continue
        for number, item in enumerate(policy.policy_items, 1):
            accesses = tuple(dict.fromkeys(access.type for access in item.accesses if access.is_allowed))
            if not accesses:
                continue
            yield from (
                HeldPrivileges(policy, number, person, through, accesses) for person, through in _people(item, members)
            )


def _people(item: PolicyItem, members: Members) -> Iterator[tuple[str | None, str]]:
    """Yield each person of an item once, by the first way in which it names them."""
    seen: set[str | None] = set()
    for user in item.users:
        if user in (USER_MACRO, OWNER_MACRO):
            yield None, EVERYBODY if user == USER_MACRO else OWNERS
        elif user not in seen:
            seen.add(user)
            yield user, ""
    for kind, names, known in (("group", item.groups, members.groups), ("role", item.roles, members.roles)):
        for name in names:
            if kind == "group" and name == PUBLIC:
                yield None, EVERYBODY
                continue
            people = known.get(name, frozenset())
            if not people:
                yield None, f"{kind} {name}"
            for person in sorted(people - seen):
                seen.add(person)
                yield person, f"{kind} {name}"


class PolicyUses:
    """Last use of each policy, by person and access type, in epoch milliseconds."""

    def __init__(self, facts: AuditFacts, index: PolicyIndex) -> None:
        self._of_person: dict[tuple[int, str], dict[str, int]] = defaultdict(dict)
        self._of_policy: dict[int, dict[str, int]] = defaultdict(dict)
        # Policies of an export are renumbered, so that recorded ids are those of others; Ranger's have a guid.
        recorded = {id_ for id_, policy in index.policies.items() if policy.guid}
        for use in facts.uses:
            if not use.allowed:
                continue
            ids = {use.by} if use.now else set()
            if use.policy in recorded:
                ids.add(use.policy)
            for id_ in ids:
                for found in (self._of_person[id_, use.user], self._of_policy[id_]):
                    found[use.access] = max(use.last, found.get(use.access, 0))

    def last(self, policy_id: int, person: str | None, accesses: frozenset[str] | None = None) -> int | None:
        """Return the last use of one of these access types (default: of any), by the person or, for None, by anyone."""
        found = self._of_policy.get(policy_id) if person is None else self._of_person.get((policy_id, person))
        wanted = (
            time for access, time in (found or {}).items() if accesses is None or access in accesses or access in _ANY
        )
        return max(wanted, default=None)


def unused_privileges(
    index: PolicyIndex, facts: AuditFacts, groups: Mapping[str, frozenset[str]], cutoff: int
) -> InsightTable:
    """Return the privileges that were not used since `cutoff` (epoch milliseconds), by policy, item and person."""
    uses, rows = PolicyUses(facts, index), []
    for held in held_privileges(index, Members.of(index, groups)):
        policy_id = held.policy.id
        assert policy_id is not None  # the index has none without
        times = {access: uses.last(policy_id, held.person, _closure(access, index)) for access in held.accesses}
        unused = {access: time for access, time in times.items() if time is None or time < cutoff}
        if unused:
            last = max((time for time in unused.values() if time is not None), default=None)
            rows.append(
                (
                    *(policy_id, held.policy.name, held.policy.zone_name or None, held.item),
                    *(held.person, held.through, tuple(unused), last),
                )
            )
    return InsightTable(
        "unused_privileges",
        "Privileges not used",
        "Access types of an item that this person did not use in these days, or that another policy gives first.",
        (
            ("policy", ColumnKind.ID),
            ("name", ColumnKind.TEXT),
            ("zone", ColumnKind.TEXT),
            ("item", ColumnKind.NUMBER),
            ("user", ColumnKind.TEXT),
            ("through", ColumnKind.TEXT),
            ("accesses", ColumnKind.TEXTS),
            ("last_used", ColumnKind.TIME),
        ),
        tuple(rows),
    )


def unused_policies(index: PolicyIndex, facts: AuditFacts, cutoff: int) -> InsightTable:
    """Return the enabled policies with allow items that allowed nothing since `cutoff` (epoch milliseconds)."""
    uses, rows = PolicyUses(facts, index), []
    for policy_id, policy in sorted(index.policies.items()):
        if policy.is_enabled and policy.policy_type == _ACCESS_POLICY and policy.policy_items:
            last = uses.last(policy_id, None)
            if last is None or last < cutoff:
                rows.append((policy_id, policy.name, policy.zone_name or None, last))
    return InsightTable(
        "unused_policies",
        "Policies not used",
        "Policies whose allow items decided no access in these days.",
        (
            ("policy", ColumnKind.ID),
            ("name", ColumnKind.TEXT),
            ("zone", ColumnKind.TEXT),
            ("last_used", ColumnKind.TIME),
        ),
        tuple(rows),
    )


def _closure(access: str, index: PolicyIndex) -> frozenset[str]:
    """Return the access types that a written one gives, itself included; those of tags without their service type."""
    return implied([PolicyItemAccess(type=access.removeprefix(f"{index.component}:"))], index.implied)
