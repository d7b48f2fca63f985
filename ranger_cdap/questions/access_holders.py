"""Holders of access to one entity: those that policies and their roles name, and the members of their groups."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property

from ranger_cdap.analysis.access_paths import CellFinder
from ranger_cdap.analysis.subject import Subject
from ranger_cdap.authz.access_review import review_engine, reviewed
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.engine import ADMIN_ACCESS, AccessRequest, PolicyEngine, Verdict
from ranger_cdap.engine.decide.acl import ANONYMOUS_USER, Accesses
from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.questions.cell_text import dependence
from ranger_cdap.questions.policy_index import PolicyIndex, TagPolicy, users_of
from ranger_cdap.ranger_model.decode import decode_user_store
from ranger_cdap.ranger_model.document import replaced


@dataclass(frozen=True, slots=True)
class AccessHolder:
    """A holder (`everybody`, a `user`, `group` or `role`), its accesses, and the groups that were included.

    `depends` says on what each conditional access depends, as far as conditions can be named.
    """

    kind: str
    name: str
    accesses: Accesses
    groups: tuple[str, ...] = ()
    depends: Mapping[str, str] = field(default_factory=dict)

    def status(self, access: str) -> str:
        """Return the status of an access as text, with that on which it depends."""
        depends = self.depends.get(access)
        return f"allowed {depends}" if depends else self.accesses[access].verdict


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

    def holder(
        kind: str, name: str, row: Accesses, groups: tuple[str, ...], roles: frozenset[str] | None = None
    ) -> AccessHolder:
        among = (name,) if kind == "group" else groups
        depends = asks.dependence(name if kind == "user" else ANONYMOUS_USER, among, roles, row, index)
        return AccessHolder(kind, name, row, groups, depends)

    yield holder("everybody", "", everybody, ())
    for user in sorted(table.users.keys() | members.keys()):
        groups = members.get(user, ())
        row = asks.accesses(user, groups)
        if user in table.users or row != everybody:
            yield holder("user", user, row, groups)
    for group in sorted(named_groups):
        row = asks.accesses(ANONYMOUS_USER, (group,))
        if group in table.groups or row != everybody:
            yield holder("group", group, row, ())
    for role in table.roles:
        roles = frozenset({role})
        yield holder("role", role, asks.accesses(ANONYMOUS_USER, roles=roles), (), roles)


@dataclass(frozen=True)
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

    def dependence(
        self, user: str, groups: tuple[str, ...], roles: frozenset[str] | None, accesses: Accesses, index: PolicyIndex
    ) -> dict[str, str]:
        """Return on what the conditional ones of these accesses depend."""
        subject = Subject(user, frozenset(groups), roles)
        conditional = [kind for kind, entry in accesses.items() if entry.verdict is Verdict.CONDITIONAL]
        cells = ((kind, self._cells.cell(subject, self.resource, kind)) for kind in conditional)
        # Tags that a service without an enricher has in its download may only deny; nothing else is left unnamed.
        return {kind: dependence(cell) or _by_tags(index.tagged(accesses[kind].policy_id)) for kind, cell in cells}

    @cached_property
    def _cells(self) -> CellFinder:
        return CellFinder(self.engine)


def _by_tags(tagged: TagPolicy) -> str:
    return f"depending on {tagged.tags}" if tagged.tags else ""


def members_of(documents: Documents | None, groups: Set[str] | None) -> dict[str, tuple[str, ...]]:
    """Return the users that the user store puts into one of the groups, each with all their groups; None: all users."""
    if documents is None or documents.users is None:
        return {}
    store = decode_user_store(documents.users)
    mapping = store.user_group_mapping
    if groups is None:
        return {user: tuple(sorted(mapping.get(user, ()))) for user in users_of(store)}
    return {user: tuple(sorted(among)) for user, among in mapping.items() if not groups.isdisjoint(among)}
