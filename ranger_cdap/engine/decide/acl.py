"""ACLs of a resource (ranger-semantics.md §16), computed by evaluating every principal that policies name.

Each entry is a decision, so it agrees with `evaluate` by construction. It is evaluated twice, as conditions and
validity schedules may matter: once as if all of them were against the user, once as if all were in their favour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from ranger_cdap.engine.compiled.items import OWNER_MACRO, PUBLIC, USER_MACRO
from ranger_cdap.engine.compiled.options import Privileged
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.compiled.roles import RoleTable
from ranger_cdap.engine.model.decision import NO_POLICY, Decision

ANONYMOUS_USER = "\0"
"""User name that no policy can hold: access allowed to it is allowed to all users."""


class Verdict(StrEnum):
    """Answer on an access.

    It is `conditional` if a condition, a time or a tag decides, and `undecided` if an analysis could not decide; the
    engine decides every request.
    """

    ALLOWED = "allowed"
    DENIED = "denied"
    NO_POLICY = "no policy"
    CONDITIONAL = "conditional"
    UNDECIDED = "undecided"


class AccessEntry(msgspec.Struct, frozen=True):
    """Access of a principal to an access type, and the policy that decides it."""

    verdict: Verdict
    policy_id: int


Accesses = dict[str, AccessEntry]
Decide = Callable[[str | None, frozenset[str], frozenset[str] | None, str, bool], Decision]
"""Takes user, groups, roles, access type, and whether conditions are assumed in favour of the user."""


class ResourceAccess(msgspec.Struct, frozen=True):
    """ACLs by principal and access type; access types without an applicable policy are left out, and not allowed.

    A row is for that principal alone: a user without groups, or a member of the group who is named nowhere else.
    Users and groups have the roles of which the role definitions make them direct members. Principals without a row
    have the access of `all_users`.
    """

    all_users: Accesses
    users: dict[str, Accesses]
    groups: dict[str, Accesses]
    roles: dict[str, Accesses]


@dataclass(frozen=True, slots=True)
class NamedPrincipals:
    """Users, groups and roles that policies name."""

    users: frozenset[str]
    groups: frozenset[str]
    roles: frozenset[str]


def named_principals_of(
    policies: Iterable[CompiledPolicy], privileged: Privileged, definitions: RoleTable
) -> NamedPrincipals:
    """Return the principals that policy items name, the users of named roles, and the super users and super groups."""
    principals = {
        principal
        for policy in policies
        for item in (*policy.deny, *policy.deny_exceptions, *policy.allow, *policy.allow_exceptions)
        for principal in item.principals
    }
    users, groups, roles = (
        frozenset(n[2:] for n in principals if n.startswith(prefix)) for prefix in ("u:", "g:", "r:")
    )
    users = (users - {USER_MACRO, OWNER_MACRO}) | privileged.super_users | definitions.users_of(roles)
    return NamedPrincipals(users, (groups - {PUBLIC}) | privileged.super_groups, roles)


def resource_access(
    named: NamedPrincipals, candidate_users: Iterable[str], accesses: Iterable[str], decide: Decide
) -> ResourceAccess:
    """Compute the ACLs of the named principals, and of those `candidate_users` that differ from all users."""
    access_types = tuple(accesses)

    def row(user: str | None, groups: frozenset[str], roles: frozenset[str] | None) -> Accesses:
        entries = (
            (a, access_entry(decide(user, groups, roles, a, False), decide(user, groups, roles, a, True)))
            for a in access_types
        )
        return {access: entry for access, entry in entries if entry is not None}

    no_names: frozenset[str] = frozenset()
    all_users = row(ANONYMOUS_USER, no_names, None)
    users = {user: row(user, no_names, None) for user in sorted(named.users | set(candidate_users))}
    return ResourceAccess(
        all_users=all_users,
        users={u: accesses for u, accesses in users.items() if u in named.users or accesses != all_users},
        groups={g: row(ANONYMOUS_USER, frozenset({g}), None) for g in sorted(named.groups)},
        roles={r: row(ANONYMOUS_USER, no_names, frozenset({r})) for r in sorted(named.roles)},
    )


def access_entry(unfavourable: Decision, favourable: Decision) -> AccessEntry | None:
    """Return the access by two decisions, with all conditions against the user and all in their favour."""
    if unfavourable.allowed != favourable.allowed:
        return AccessEntry(Verdict.CONDITIONAL, favourable.policy_id)
    if favourable.policy_id == NO_POLICY and not favourable.allowed:
        return None
    verdict = Verdict.ALLOWED if favourable.allowed else Verdict.DENIED
    return AccessEntry(verdict, favourable.policy_id)
