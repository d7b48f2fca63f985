"""`RoleForwarder`: roles made and assigned by users in CDAP, kept as roles of Ranger and changed in their name.

CDAP checks nothing before it calls. Law: only a named user with ADMIN on the instance changes a role, only one that
was made in this CDAP, and only as one of its admins in Ranger; no member is added unless the caller could grant all
that the role gives, so that a role gives no one what the caller could not give directly; no removal lifts a denial.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import check_grantee
from ranger_cdap.engine import ADMIN_ACCESS
from ranger_cdap.errors import RangerCdapError
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.client.ranger_roles import RoleRecord
from ranger_cdap.ranger_model.policy import Policy
from ranger_cdap.ranger_model.role import RoleMember
from ranger_cdap.service.grants.current_rights import (
    ADMIN,
    INSTANCE,
    CurrentRights,
    NotDone,
    as_sentence,
    named_role,
    named_user,
)
from ranger_cdap.service.grants.entity_grants import plain_grant, policies_naming
from ranger_cdap.service.grants.role_book import RoleBook, description_of_made, is_made
from ranger_cdap.wire.cdap_wire import WirePrincipal
from ranger_cdap.wire.role_wire import RoleFailure, RoleReply, RoleRequest

logger = logging.getLogger(__name__)

IN_RANGER = "change roles in Ranger"
_KINDS = {"USER": "users", "GROUP": "groups"}
_MOST_NAMED = 5
"""Policies that a message names."""


class RoleNotFound(NotDone):
    """Ranger has no such role."""

    failure = RoleFailure.NOT_FOUND


class RoleExists(NotDone):
    """Ranger has a role of that name."""

    failure = RoleFailure.EXISTS


@dataclass(frozen=True, slots=True)
class _Member:
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.removesuffix('s')} {self.name}"

    def in_role(self, role: RoleRecord) -> RoleMember | None:
        """Return the member of a role that it is; None if it is not in it by name."""
        return next((one for one in getattr(role, self.kind) if one.name == self.name), None)


class RoleForwarder:
    """Forwarder of changes of roles, one at a time, and never beside a grant."""

    def __init__(self, rights: CurrentRights, admin: RangerAdmin) -> None:
        self._rights = rights
        self._roles = admin.roles
        self._service = rights.service.name

    def change(self, request: RoleRequest, what: str) -> RoleReply:
        """Change a role; `what`: `create` (as Ranger's other plugins do, its only member and admin is the caller),
        `drop` (unless a policy names it), `add` or `remove` a user or group.
        """
        try:
            caller, name = named_user(request.caller, "caller"), named_role(request.role)
            member = self._member(request.principal) if what in ("add", "remove") else None
            with self._rights.changing():
                self._rights.require_admin(caller, f"role.{what}")
                changed = self._changed(what, caller, name, member)
            logger.info("%s of role %s by %s%s", what, name, caller, f": {member}" if member else "")
            reason = self._rights.take_effect() if changed else ""
            return RoleReply(done=True, changed=changed, failure=RoleFailure.NONE, reason=reason)
        except (NotDone, RangerCdapError) as e:
            failure = e.failure if isinstance(e, NotDone) else RoleFailure.REFUSED
            reason = f"{IN_RANGER}: {as_sentence(e, 'change of a role')}"
            return RoleReply(done=False, changed=False, failure=failure, reason=reason)

    def names(self, caller: WirePrincipal | None, principal: WirePrincipal | None) -> tuple[str, ...]:
        """Return the roles of a user or group, or all; only those made in this CDAP or named by a policy of it.

        Raises:
            NotDone: the caller lacks ADMIN on the instance, and is neither that user nor in that group.
            InvalidInput: a name is invalid.
        """
        rights = self._rights
        asking, engine, book = named_user(caller, "caller"), rights.engine(), rights.roles()
        member = self._member(principal) if principal is not None else None
        groups = rights.groups_of(asking)
        own = member in (_Member("users", rights.in_ranger(asking)), *(_Member("groups", group) for group in groups))
        if not own and not rights.has(engine, asking, INSTANCE, ADMIN):
            raise NotDone(f"{asking} needs ADMIN on the instance, so only {asking}'s own roles are shown")
        found: Iterable[str] = book.roles
        if member is not None:
            found = (
                book.of_user(member.name, rights.groups_of(member.name))
                if member.kind == "users"
                else book.of_group(member.name)
            )
        return tuple(sorted(name for name in found if self._is_of_this_service(book, name)))

    def _changed(self, what: str, caller: str, name: str, member: _Member | None) -> bool:
        if what == "create":
            return self._created(caller, name)
        role = self._made(name)
        if member is None:
            return self._dropped(caller, role)
        return self._added(caller, role, member) if what == "add" else self._removed(caller, role, member)

    def _created(self, caller: str, name: str) -> bool:
        if not self._roles.create(
            self._service, name, description=description_of_made(self._service), admins=[self._rights.in_ranger(caller)]
        ):
            raise RoleExists(f"role {name} already exists")
        return True

    def _dropped(self, caller: str, role: RoleRecord) -> bool:
        if given := list(policies_naming(self._rights.engine(), role.name)):
            raise NotDone(f"role {role.name} is used by {self._shown(caller, role.name, given)}; revoke that first")
        # Ranger deletes in our own name; naming an admin of the role once more, which changes nothing, asks it
        # if the caller administers the role.
        admins = (
            _Member(kind, one.name) for kind in reversed(_KINDS.values()) for one in getattr(role, kind) if one.is_admin
        )
        again = next(admins, None)
        if again is None or not again.name:
            raise NotDone(f"role {role.name} has no admin in Ranger")
        self._grant(caller, role.name, again, admin=True)
        self._roles.delete(self._service, role.name)
        return True

    def _added(self, caller: str, role: RoleRecord, member: _Member) -> bool:
        given = list(self._given(caller, role.name))
        if member.in_role(role) is not None:
            return False  # Ranger would take its admin right from a member that is named again
        rights = self._rights
        engine, delegation = rights.engine(), rights.delegation() if given else None
        for entity, accesses in given:
            needed = dict.fromkeys((ADMIN, *sorted(accesses)))
            lacks = [access.upper() for access in needed if not rights.has(engine, caller, entity, access)]
            may = rights.has(engine, caller, entity, ADMIN_ACCESS) and all(
                delegation is not None and rights.has(delegation, caller, entity, access) for access in accesses
            )
            if not may:
                lacks.append("the right to delegate")
            if lacks:
                raise NotDone(f"role {role.name} gives more than {caller} may: {', '.join(lacks)} on {entity}")
        self._grant(caller, role.name, member)
        return True

    def _removed(self, caller: str, role: RoleRecord, member: _Member) -> bool:
        list(self._given(caller, role.name))
        present = member.in_role(role)
        if present is None:
            return False
        if present.is_admin:
            raise NotDone(f"{member} administers role {role.name}")
        users, groups = _by_kind(member)
        self._roles.revoke(self._service, role.name, grantor=self._rights.in_ranger(caller), users=users, groups=groups)
        return True

    def _grant(self, caller: str, role: str, member: _Member, *, admin: bool = False) -> None:
        users, groups = _by_kind(member)
        self._roles.grant(
            self._service, role, grantor=self._rights.in_ranger(caller), users=users, groups=groups, admin=admin
        )

    def _member(self, principal: WirePrincipal | None) -> _Member:
        found = _member(principal)
        return _Member(found.kind, self._rights.in_ranger(found.name, found.kind))

    def _made(self, name: str) -> RoleRecord:
        role = self._roles.find(self._service, name)
        if role is None:
            raise RoleNotFound(f"there is no role {name}")
        if not is_made(role, self._service):
            raise NotDone(f"role {name} was not made in CDAP, and other services may use it")
        return role

    def _given(self, caller: str, role: str) -> Iterator[tuple[EntityId, frozenset[str]]]:
        """Yield what a role gives; raise NotDone if it is more than grants made in CDAP."""
        if outer := self._rights.roles().containing(role):
            raise NotDone(f"role {role} is in role {outer[0]}")
        for policy in policies_naming(self._rights.engine(), role):
            given = plain_grant(policy, role, self._rights.instance) if policy is not None else None
            if given is None:
                raise NotDone(f"role {role} is in {self._shown(caller, role, [policy])}, which is more than a grant")
            yield given

    def _shown(self, caller: str, role: str, policies: list[Policy | None]) -> str:
        """Return the policies by id, those on entities that the caller does not administer as a number only."""
        rights = self._rights
        engine, ids = rights.engine(), list[int]()
        for policy in policies:
            given = plain_grant(policy, role, rights.instance) if policy is not None else None
            if policy is not None and given is not None and rights.has(engine, caller, given[0], ADMIN):
                ids.append(policy.id or 0)
        named = [f"policy {number}" for number in sorted(ids)[:_MOST_NAMED]]
        if others := len(policies) - len(named):
            named.append(f"{others} other polic{'y' if others == 1 else 'ies'}" if named else _counted(others))
        return ", ".join(named)

    def _is_of_this_service(self, book: RoleBook, name: str) -> bool:
        return is_made(book.roles[name], self._service) or any(
            policy is not None for policy in policies_naming(self._rights.engine(), name)
        )


def _counted(number: int) -> str:
    return "a policy" if number == 1 else f"{number} policies"


def _by_kind(member: _Member) -> tuple[list[str], list[str]]:
    return ([member.name], []) if member.kind == "users" else ([], [member.name])


def _member(principal: WirePrincipal | None) -> _Member:
    """Return the user or group that a request names.

    Raises:
        NotDone: it names none, or a role.
        UnsafeGrant: it does not identify a single user or group.
    """
    if principal is None:
        raise NotDone("the request names no principal")
    kind = _KINDS.get(principal.type.upper())
    if kind is None:
        raise NotDone(f"members of a role are users and groups in CDAP, not a {principal.type.lower()[:40]}")
    check_grantee(principal.name, non_creators=())
    return _Member(kind, principal.name)
