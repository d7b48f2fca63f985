"""Holders of access to one entity: those that policies and their roles name, and the members of their groups."""

from __future__ import annotations

import time
from collections.abc import Iterator, Set
from dataclasses import dataclass

from ranger_cdap.authz.access_review import review_engine, reviewed
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cli.policy_index import PolicyIndex, users_of
from ranger_cdap.engine import ADMIN_ACCESS, AccessRequest, PolicyEngine
from ranger_cdap.engine.decide.acl import ANONYMOUS_USER, Accesses
from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.ranger_model.decode import decode_user_store
from ranger_cdap.ranger_model.document import replaced


@dataclass(frozen=True, slots=True)
class AccessHolder:
    """A holder (`everybody`, a `user`, `group` or `role`), its accesses, and the groups that were included."""

    kind: str
    name: str
    accesses: Accesses
    groups: tuple[str, ...] = ()


def access_holders(authorizer: Authorizer, entity: EntityId, index: PolicyIndex) -> Iterator[AccessHolder]:
    """Yield every holder with an access to the entity, allowed, denied or conditional, as the engine decides.

    Raises:
        NotReady: there are no policies.
    """
    snapshot, now = authorizer.snapshot, time.time_ns() // 1_000_000
    asks = _Evaluator(review_engine(snapshot, now), to_resource(entity, authorizer.decider.config.instance), now)
    table = asks.engine.who_can(asks.resource)
    named_groups = table.groups.keys() | index.groups_in_roles
    members = members_of(snapshot.documents, None if index.names_the_user else named_groups)
    everybody = asks.accesses(ANONYMOUS_USER)
    yield AccessHolder("everybody", "", everybody)
    for user in sorted(table.users.keys() | members.keys()):
        groups = members.get(user, ())
        row = asks.accesses(user, groups)
        if user in table.users or row != everybody:
            yield AccessHolder("user", user, row, groups)
    for group in sorted(named_groups):
        row = asks.accesses(ANONYMOUS_USER, (group,))
        if group in table.groups or row != everybody:
            yield AccessHolder("group", group, row)
    for role in table.roles:
        yield AccessHolder("role", role, asks.accesses(ANONYMOUS_USER, roles=frozenset({role})))


@dataclass(frozen=True, slots=True)
class _Evaluator:
    """The engine, evaluating one resource at one time, in epoch milliseconds."""

    engine: PolicyEngine
    resource: dict[str, str]
    now: int

    def accesses(self, user: str, groups: tuple[str, ...] = (), roles: frozenset[str] | None = None) -> Accesses:
        """Return the accesses of a user with these groups and, if given, only these roles."""
        kinds = (*(access.name for access in self.engine.service_def.access_types), ADMIN_ACCESS)
        base = AccessRequest(self.resource, "", user=user, groups=frozenset(groups), roles=roles, access_time=self.now)
        entries = ((kind, reviewed(self.engine, replaced(base, access_type=kind))[1]) for kind in kinds)
        return {kind: entry for kind, entry in entries if entry is not None}


def members_of(documents: Documents | None, groups: Set[str] | None) -> dict[str, tuple[str, ...]]:
    """Return the users that the user store puts into one of the groups, each with all their groups; None: all users."""
    if documents is None or documents.users is None:
        return {}
    store = decode_user_store(documents.users)
    mapping = store.user_group_mapping
    if groups is None:
        return {user: tuple(sorted(mapping.get(user, ()))) for user in users_of(store)}
    return {user: tuple(sorted(among)) for user, among in mapping.items() if not groups.isdisjoint(among)}
