"""Who can do what on a resource: Ranger's ACLs (ranger-semantics.md §16), worked out by deciding for everybody named.

Because each answer is a decision, it agrees with `evaluate` by construction. Where conditions or validity matter,
the decision is made twice: as if all of them spoke against the user, and as if all spoke for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

import msgspec

from ranger_cdap.engine.compiled.items import OWNER_MACRO, PUBLIC, USER_MACRO
from ranger_cdap.engine.compiled.options import Privileged
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.compiled.roles import RoleTable
from ranger_cdap.engine.model.decision import NO_POLICY, Decision

NOBODY_IN_PARTICULAR = "\0"
"""A user name that no policy can hold: what is allowed to it is allowed to everybody."""


class Standing(Enum):
    """How somebody stands to an access type."""

    ALLOWED = "allowed"
    DENIED = "denied"
    CONDITIONAL = "conditional"


class AccessEntry(msgspec.Struct, frozen=True):
    """How somebody stands to an access type, and the policy that says so."""

    standing: Standing
    policy_id: int


Accesses = dict[str, AccessEntry]
Decide = Callable[[str | None, frozenset[str], frozenset[str] | None, str, bool], Decision]
"""Takes user, groups, roles, access type and whether conditions speak for whoever asks."""


class ResourceAccess(msgspec.Struct, frozen=True):
    """Who can do what, by name and access type; what no policy speaks of is left out and not allowed.

    A row is for somebody who is nothing else: a user without groups, a group's member who is named nowhere else.
    Users have the roles the definitions give them by name, groups likewise. Whoever has no row stands as everybody.
    """

    everybody: Accesses
    users: dict[str, Accesses]
    groups: dict[str, Accesses]
    roles: dict[str, Accesses]


@dataclass(frozen=True, slots=True)
class Names:
    """Users, groups and roles named by policies."""

    users: frozenset[str]
    groups: frozenset[str]
    roles: frozenset[str]


def named(policies: Iterable[CompiledPolicy], privileged: Privileged, definitions: RoleTable) -> Names:
    """Everybody the items of policies name, by name or as a user in a role, and the super users."""
    who: set[str] = set()
    for policy in policies:
        for item in (*policy.deny, *policy.deny_exceptions, *policy.allow, *policy.allow_exceptions):
            who |= item.who
    users, groups, roles = (frozenset(n[2:] for n in who if n.startswith(kind)) for kind in ("u:", "g:", "r:"))
    users = (users - {USER_MACRO, OWNER_MACRO}) | privileged.super_users | definitions.users_of(roles)
    return Names(users, (groups - {PUBLIC}) | privileged.super_groups, roles)


def who_can(names: Names, perhaps: Iterable[str], accesses: Iterable[str], decide: Decide) -> ResourceAccess:
    """The table of everybody named, for these access types; users `perhaps` only where they differ from everybody."""
    kinds = tuple(accesses)

    def row(user: str | None, groups: frozenset[str], roles: frozenset[str] | None) -> Accesses:
        entries = (
            (a, _entry(decide(user, groups, roles, a, False), decide(user, groups, roles, a, True))) for a in kinds
        )
        return {access: entry for access, entry in entries if entry is not None}

    nobody: frozenset[str] = frozenset()
    everybody = row(NOBODY_IN_PARTICULAR, nobody, None)
    users = {user: row(user, nobody, None) for user in sorted(names.users | set(perhaps))}
    return ResourceAccess(
        everybody=everybody,
        users={u: accesses for u, accesses in users.items() if u in names.users or accesses != everybody},
        groups={g: row(NOBODY_IN_PARTICULAR, frozenset({g}), None) for g in sorted(names.groups)},
        roles={r: row(NOBODY_IN_PARTICULAR, nobody, frozenset({r})) for r in sorted(names.roles)},
    )


def _entry(against: Decision, in_favour: Decision) -> AccessEntry | None:
    if against.allowed != in_favour.allowed:
        return AccessEntry(Standing.CONDITIONAL, in_favour.policy_id)
    if in_favour.policy_id == NO_POLICY and not in_favour.allowed:
        return None
    standing = Standing.ALLOWED if in_favour.allowed else Standing.DENIED
    return AccessEntry(standing, in_favour.policy_id)
