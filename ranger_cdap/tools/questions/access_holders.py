"""Holders of access to one entity: those that policies and their roles name, and the members of their groups."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from ranger_cdap.authz.access_review import review_engine, reviewed
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.policy_index import PolicyIndex, users_of
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.engine import ADMIN_ACCESS, AccessEntry, AccessRequest, PolicyEngine, Verdict
from ranger_cdap.engine.view import ANONYMOUS_USER, Accesses
from ranger_cdap.ranger.refresh.documents import Documents
from ranger_cdap.ranger_model.decode import decode_user_store
from ranger_cdap.tools.analysis.subject import Subject
from ranger_cdap.tools.questions.dependence import Dependences


@dataclass(frozen=True, slots=True)
class AccessHolder:
    """A holder (`everybody`, a `user`, `group` or `role`), its accesses, and the groups that were included.

    `depends` says on what each conditional access depends, as far as conditions can be named.
    """

    kind: str
    name: str
    accesses: Accesses
    groups: tuple[str, ...]
    depends: Mapping[str, str]

    def status(self, access: str) -> str:
        """Return the verdict on an access as text, with that on which it depends."""
        depends, verdict = self.depends.get(access), self.accesses[access].verdict
        may = "may be " if verdict is Verdict.UNDECIDED else ""
        return f"{may}allowed {depends}" if depends else verdict

    def has_same_access(self, other: AccessHolder) -> bool:
        """Return whether another holder has the same accesses."""
        return (self.accesses, self.depends) == (other.accesses, other.depends)


def access_holders(authorizer: Authorizer, entity: EntityId, index: PolicyIndex) -> Iterator[AccessHolder]:
    """Yield every holder with an access to the entity, allowed, denied, conditional or undecided.

    A role has its access with the roles that contain it, and without any group.

    Raises:
        NotReady: there are no policies.
    """
    snapshot, now = authorizer.snapshot, time.time_ns() // 1_000_000
    engine = review_engine(snapshot, now)
    resource = to_resource(entity, authorizer.decider.config.instance)
    asks = _Evaluator(engine, resource, now, Dependences(engine, index.tagged))
    table = engine.who_can(resource)
    named_groups = table.groups.keys() | index.groups_in_roles
    members = members_of(snapshot.documents, None if index.names_the_user else named_groups)
    everybody = asks.holder("everybody", "")
    yield everybody
    for user in sorted(table.users.keys() | members.keys()):
        found = asks.holder("user", user, members.get(user, ()))
        if user in table.users or not found.has_same_access(everybody):
            yield found
    for group in sorted(named_groups):
        found = asks.holder("group", group)
        if group in table.groups or not found.has_same_access(everybody):
            yield found
    for role in sorted(table.roles.keys() | index.roles.names):
        having = index.roles.containing(role)
        if not having.isdisjoint(table.roles):
            yield asks.holder("role", role, roles=having)


@dataclass(frozen=True)
class _Evaluator:
    """The engine, evaluating one resource at one time, in epoch milliseconds."""

    engine: PolicyEngine
    resource: dict[str, str]
    now: int
    dependences: Dependences

    def holder(
        self, kind: str, name: str, groups: tuple[str, ...] = (), roles: frozenset[str] | None = None
    ) -> AccessHolder:
        """Return a holder with their accesses; a user with these groups, a role with only these roles."""
        user = name if kind == "user" else ANONYMOUS_USER
        subject = Subject(user, frozenset((name,) if kind == "group" else groups), roles)
        kinds = (*(access.name for access in self.engine.service_def.access_types), ADMIN_ACCESS)
        found = {access: entry for access in kinds if (entry := self._entry(subject, access))}
        return AccessHolder(
            kind,
            name,
            {access: entry for access, (entry, _) in found.items()},
            groups,
            {access: text for access, (_, text) in found.items() if text},
        )

    def _entry(self, subject: Subject, access: str) -> tuple[AccessEntry, str] | None:
        """Return an access and on what it depends; None if no policy gives or denies it."""
        request = AccessRequest(
            self.resource, access, subject.user, subject.groups, roles=subject.roles, access_time=self.now
        )
        _, entry = reviewed(self.engine, request)
        if entry is None:
            return None
        if entry.verdict is not Verdict.CONDITIONAL:
            return entry, ""
        # To the engine it is conditional as soon as conditions matter: they may still never allow it, or always.
        found = self.dependences.of(subject, self.resource, access, entry.policy_id)
        return None if found.verdict is Verdict.NO_POLICY else (AccessEntry(found.verdict, found.policy_id), found.text)


def members_of(documents: Documents | None, groups: Set[str] | None) -> dict[str, tuple[str, ...]]:
    """Return the users that the user store puts into one of the groups, each with all their groups; None: all users."""
    if documents is None or documents.users is None:
        return {}
    store = decode_user_store(documents.users)
    mapping = store.user_group_mapping
    if groups is None:
        return {user: tuple(sorted(mapping.get(user, ()))) for user in users_of(store)}
    return {user: tuple(sorted(among)) for user, among in mapping.items() if not groups.isdisjoint(among)}
