"""Whom policies reach on one entity: everybody they name, whom their roles name, and the members of their groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ranger_cdap.authorizer import Authorizer
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.engine import ADMIN_ACCESS, AccessEntry, AccessRequest, Decision, PolicyEngine, Standing
from ranger_cdap.engine.acl import NOBODY_IN_PARTICULAR, Accesses
from ranger_cdap.engine.wire import UserStore, decode_roles, decode_user_store
from ranger_cdap.errors import NotReady
from ranger_cdap.policies.documents import Documents


@dataclass(frozen=True, slots=True)
class Reached:
    """Somebody (`everybody`, a `user`, `group` or `role`), how he stands, and the groups that were counted in."""

    kind: str
    name: str
    accesses: Accesses
    groups: tuple[str, ...] = ()


def reached(authorizer: Authorizer, entity: EntityId) -> Iterator[Reached]:
    """Everybody who stands somehow to the entity, as the engine decides.

    Raises:
        NotReady: there are no policies.
    """
    table = authorizer.who(entity)
    snapshot = authorizer.snapshot
    if snapshot.engine is None:
        raise NotReady(snapshot.reason)
    asks = _Asks(snapshot.engine, to_resource(entity, authorizer.rules.instance))
    groups_of_roles, members = _beyond_policies(snapshot.documents)
    yield Reached("everybody", "", table.everybody)
    for user in sorted(table.users.keys() | members.keys()):
        groups = members.get(user, ())
        row = asks.accesses(user, groups) if groups else table.users[user]
        if user in table.users or row != table.everybody:
            yield Reached("user", user, row, groups)
    for group in sorted(table.groups.keys() | groups_of_roles):
        known = table.groups.get(group)
        row = asks.accesses(NOBODY_IN_PARTICULAR, (group,)) if known is None else known
        if known is not None or row != table.everybody:
            yield Reached("group", group, row)
    for role, row in table.roles.items():
        yield Reached("role", role, row)


@dataclass(frozen=True, slots=True)
class _Asks:
    """The engine, asked about one resource."""

    engine: PolicyEngine
    resource: dict[str, str]

    def accesses(self, user: str, groups: tuple[str, ...]) -> Accesses:
        """How a user with these groups stands."""
        kinds = (*(access.name for access in self.engine.service_def.accessTypes), ADMIN_ACCESS)
        among = frozenset(groups)
        entries = (
            (kind, _entry(self.engine.evaluate(AccessRequest(self.resource, kind, user=user, groups=among))))
            for kind in kinds
        )
        return {kind: entry for kind, entry in entries if entry is not None}


def _entry(decision: Decision) -> AccessEntry | None:
    if decision.conditional:
        return AccessEntry(Standing.CONDITIONAL, decision.policy_id)
    if decision.policy_id < 0 and not decision.allowed:
        return None
    return AccessEntry(Standing.ALLOWED if decision.allowed else Standing.DENIED, decision.policy_id)


def _beyond_policies(documents: Documents | None) -> tuple[frozenset[str], dict[str, tuple[str, ...]]]:
    """The groups that roles name, and the groups of the users Ranger knows, of those who are in any."""
    if documents is None:
        return frozenset(), {}
    roles = decode_roles(documents.roles)
    store = UserStore() if documents.users is None else decode_user_store(documents.users)
    groups = frozenset(member.name for role in roles.rangerRoles for member in role.groups) - {"public"}
    return groups, {user: tuple(sorted(of)) for user, of in store.userGroupMapping.items() if of}
