"""A user of the given policies: their groups by all sources, and through what they have a role."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ranger_cdap.authz.access_review import review_engine
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.groups import GroupResolver
from ranger_cdap.authz.known_names import KnownNames
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.engine import ADMIN_ACCESS, PolicyEngine
from ranger_cdap.engine.view import PUBLIC
from ranger_cdap.errors import InvalidInput, suggestion
from ranger_cdap.ranger_model.decode import decode_roles
from ranger_cdap.ranger_model.role import RangerRoles
from ranger_cdap.tools.analysis.subject import Subject


@dataclass(frozen=True, slots=True)
class PolicyView:
    """Policies that have not ended for good, for questions about a whole set."""

    engine: PolicyEngine
    index: PolicyIndex
    names: KnownNames
    roles: RangerRoles
    instance: str

    @classmethod
    def of(cls, authorizer: Authorizer) -> PolicyView:
        """Return the policies of an authorizer.

        Raises:
            NotReady: there are no policies.
        """
        snapshot, now = authorizer.snapshot, time.time_ns() // 1_000_000
        documents = snapshot.documents
        roles = decode_roles(documents.roles) if documents is not None else RangerRoles()
        index, instance = PolicyIndex.of(documents), authorizer.decider.config.instance
        return cls(review_engine(snapshot, now), index, KnownNames.of(authorizer, index), roles, instance)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on policies that have no effect or another than intended."""
        count = len(self.engine.problems)
        return (f"note: problems with policies: {count}; `ranger-cdap policies lint` shows them",) if count else ()


def access_types(given: Sequence[str], engine: PolicyEngine) -> tuple[str, ...]:
    """Return the access types named in any case; without names all, and delegated administration.

    Raises:
        InvalidInput: there is no such access type.
    """
    known = (*(access.name for access in engine.service_def.access_types), ADMIN_ACCESS)
    for name in given:
        if name not in known and name.lower() not in known:
            raise InvalidInput(
                f"there is no access type `{name}`{suggestion(name.lower(), known)}; there are {', '.join(known)}"
            )
    return tuple(dict.fromkeys(n if n in known else n.lower() for n in given)) if given else known


@dataclass(frozen=True, slots=True)
class KnownUser:
    """A user, and `notes`: sentences on what is not known of them."""

    subject: Subject
    notes: tuple[str, ...]

    @classmethod
    def of(cls, authorizer: Authorizer, view: PolicyView, user: str, groups: Sequence[str]) -> KnownUser:
        """Return a user with the groups given, those of Ranger's user store and those of hooks.

        Raises:
            InvalidInput: the name is empty, or uncertain.
        """
        if not user:
            raise InvalidInput("the user has no name; name one, like alice")
        found = GroupResolver.of(authorizer.snapshot, authorizer.decider.group_hook, {user: groups}).membership(user)
        if found.refused:
            raise InvalidInput(f"nothing is known of `{user}`: {found.refused}")
        failed = f"warning: the group lookup for `{found.user}` failed, so only the groups shown count"
        no_store = "note: there is no user store, so only groups given with `--group` count"
        notes = ((failed, not found.known), (no_store, view.index.users is None))
        return cls(Subject(found.user, found.groups), tuple(note for note, holds in notes if holds))

    def __str__(self) -> str:
        groups = sorted(self.subject.groups)
        among = f", in {'group' if len(groups) == 1 else 'groups'} {', '.join(groups)}" if groups else ", in no group"
        return f"{self.subject.user}{among}"

    def through(self, principal: str, roles: RangerRoles) -> str:
        """Return a principal of an item, and through what the user has a role: `role a, by role b, by group c`."""
        kind, _, name = principal.partition(" ")
        return ", by ".join(role_chain(roles, name, self.subject)) if kind == "role" else principal


def role_chain(roles: RangerRoles, role: str, subject: Subject) -> tuple[str, ...]:
    """Return a shortest chain from a role down to what makes the subject a member; the role alone if nothing does."""
    by_name = {one.name: one for one in roles.ranger_roles}
    todo: deque[tuple[str, ...]] = deque([(f"role {role}",)])
    seen = {role}
    while todo:
        chain = todo.popleft()
        one = by_name.get(chain[-1].removeprefix("role "))
        if one is None:
            continue
        if subject.user in {member.name for member in one.users}:
            return (*chain, f"user {subject.user}")
        groups = sorted({member.name for member in one.groups} & (subject.groups | {PUBLIC}))
        if groups:
            return (*chain, "everyone" if groups == [PUBLIC] else f"group {groups[0]}")
        for member in one.roles:
            if member.name not in seen:
                seen.add(member.name)
                todo.append((*chain, f"role {member.name}"))
    return (f"role {role}",)
