"""Whom policies reach on one entity: everybody they name, whom their roles name, and the members of their groups."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cli.policy_index import PolicyIndex
from ranger_cdap.engine import ADMIN_ACCESS, AccessEntry, AccessRequest, Decision, PolicyEngine, Standing
from ranger_cdap.engine.decide.acl import NOBODY_IN_PARTICULAR, Accesses
from ranger_cdap.engine.model.wire import decode_user_store
from ranger_cdap.errors import NotReady
from ranger_cdap.policies.refresh.documents import Documents


@dataclass(frozen=True, slots=True)
class AccessHolder:
    """A holder (`everybody`, a `user`, `group` or `role`), their accesses, and the groups that were counted in."""

    kind: str
    name: str
    accesses: Accesses
    groups: tuple[str, ...] = ()


def reached(authorizer: Authorizer, entity: EntityId, book: PolicyIndex) -> Iterator[AccessHolder]:
    """Everybody who stands somehow to the entity, as the engine decides.

    Raises:
        NotReady: there are no policies.
    """
    table = authorizer.who(entity)
    snapshot = authorizer.snapshot
    if snapshot.engine is None:
        raise NotReady(snapshot.reason)
    asks = _Asks(snapshot.engine, to_resource(entity, authorizer.decider.rules.instance))
    named_groups = table.groups.keys() | book.groups_in_roles
    members = _members(snapshot.documents, named_groups)
    yield AccessHolder("everybody", "", table.everybody)
    for user in sorted(table.users.keys() | members.keys()):
        groups = members.get(user, ())
        row = asks.accesses(user, groups) if groups else table.users[user]
        if user in table.users or row != table.everybody:
            yield AccessHolder("user", user, row, groups)
    for group in sorted(named_groups):
        known = table.groups.get(group)
        row = asks.accesses(NOBODY_IN_PARTICULAR, (group,)) if known is None else known
        if known is not None or row != table.everybody:
            yield AccessHolder("group", group, row)
    for role, row in table.roles.items():
        yield AccessHolder("role", role, row)


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


def _members(documents: Documents | None, named_groups: Set[str]) -> dict[str, tuple[str, ...]]:
    """The users Ranger knows to be in a group that policies or roles name, each with all their groups."""
    if documents is None or documents.users is None:
        return {}
    mapping = decode_user_store(documents.users).userGroupMapping
    return {user: tuple(sorted(groups)) for user, groups in mapping.items() if not named_groups.isdisjoint(groups)}
