"""`GrantForwarder`: grants made by users in CDAP, to users and roles, forwarded to Ranger in their own name.

CDAP checks nothing before it calls. Law: only a named user who has, by Ranger's current policies, ADMIN on exactly that
entity, every access granted, and the right to delegate there, can grant or revoke anything; then Ranger decides once
more, per access type, if they may delegate it. No denial is ever revoked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.answer import denied
from ranger_cdap.cdap.checks.legacy_privileges import accesses_of
from ranger_cdap.cdap.entity import EntityId, entity_type, from_cdap
from ranger_cdap.cdap.grant import Grant, GranteeKind, grant_for, held, is_creators_policy
from ranger_cdap.config import Settings
from ranger_cdap.engine import ADMIN_ACCESS
from ranger_cdap.errors import ConfigError, RangerCdapError
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.client.sign_in import AccountSource
from ranger_cdap.ranger_model.policy import Policy
from ranger_cdap.service.decisions.ranger_service import RangerService
from ranger_cdap.service.grants.current_rights import (
    ADMIN,
    INSTANCE,
    CurrentRights,
    NotDone,
    as_sentence,
    named_role,
    named_user,
)
from ranger_cdap.service.grants.entity_grants import granted_to, is_plain, policies_of
from ranger_cdap.wire.cdap_wire import WireEntity, WirePrincipal
from ranger_cdap.wire.grant_wire import GrantReply, GrantRequest

IN_RANGER = "edit policies in Ranger"
_USER = "USER"
_ROLE = "ROLE"
_WITHOUT_A_NAME = ("kerberos", "certificate")


@dataclass(frozen=True, slots=True)
class _GrantChange:
    caller: str
    entity: EntityId
    grant: Grant
    kind: GranteeKind


class GrantForwarder:
    """Forwarder of grants, one at a time.

    Raises:
        ConfigError: its account in Ranger is not configured.
    """

    def __init__(
        self, authorizer: Authorizer, service: RangerService, admin: RangerAdmin, *, to_roles: bool = False
    ) -> None:
        self.rights = CurrentRights(authorizer, service)
        self.admin = admin
        self._to_roles = to_roles

    @classmethod
    def of(cls, settings: Settings, authorizer: Authorizer, service: RangerService) -> GrantForwarder | None:
        """Return the forwarder of the settings; None if `service.grants` is `refuse`.

        Raises:
            ConfigError: its account in Ranger is not configured.
        """
        account = settings.service
        if account.grants == "refuse":
            return None
        if not account.bridge_username and settings.ranger.auth not in _WITHOUT_A_NAME:
            raise ConfigError(
                f'`service.grants = "{account.grants}"` needs `service.bridge_username` and `bridge_password`'
            )
        admin = RangerAdmin.connect(
            settings, account.bridge_username, account.bridge_password, source=AccountSource.BRIDGE
        )
        return cls(authorizer, service, admin, to_roles=account.grants == "bridge-with-roles")

    def close(self) -> None:
        """Close the session."""
        self.admin.close()

    def change(self, request: GrantRequest, what: str) -> GrantReply:
        """Grant permissions, or revoke them: `what` is `grant` or `revoke`."""
        try:
            change = self._parsed(request)
            with self.rights.changing():
                self._require_right(change, what)
                return self._granted(change) if what == "grant" else self._revoked(change)
        except (NotDone, RangerCdapError) as e:
            return GrantReply(done=False, changed=False, reason=f"{IN_RANGER}: {as_sentence(e, what)}")

    def grants(self, caller: WirePrincipal | None, principal: WirePrincipal) -> dict[EntityId, tuple[str, ...]]:
        """Return the access types on single entities of a user or role, by effective policies that name them.

        Raises:
            NotDone: the caller is neither that user nor in that role, and lacks ADMIN on the instance.
        """
        asking = named_user(caller, "caller")
        name, kind = self._grantee(principal)
        rights = self.rights
        engine = rights.engine()
        user = rights.in_ranger(asking)
        own = name == user if kind == "users" else name in rights.roles().of_user(user, rights.groups_of(asking))
        if not own and not rights.has(engine, asking, INSTANCE, ADMIN):
            raise NotDone(f"{asking} needs ADMIN on the instance, so only {asking}'s own grants are shown")
        given = {
            entity: tuple(access for access in sorted(accesses) if self._holds(name, kind, entity, access))
            for entity, accesses in sorted(granted_to(engine, name, kind, rights.instance).items())
        }
        return {entity: accesses for entity, accesses in given.items() if accesses}

    def _parsed(self, request: GrantRequest) -> _GrantChange:
        """Parse and validate a request.

        Raises:
            NotDone: the caller or the principal is missing or does not identify a single user.
            InvalidInput: the entity, a permission or a name is invalid or ambiguous.
        """
        caller = named_user(request.caller, "caller")
        name, kind = self._grantee(request.principal)
        entity = _entity(request.entity)
        accesses = accesses_of(entity.type, request.permissions or ())
        grant = grant_for(entity, name, self.rights.instance, accesses, non_creators=(), with_programs=False)
        return _GrantChange(caller, entity, grant, kind)

    def _grantee(self, principal: WirePrincipal | None) -> tuple[str, GranteeKind]:
        if self._to_roles and principal is not None and principal.type.upper() == _ROLE:
            return named_role(principal.name), "roles"
        return self.rights.in_ranger(named_user(principal, "principal")), "users"

    def _holds(self, name: str, kind: GranteeKind, entity: EntityId, access: str) -> bool:
        engine = self.rights.engine()
        ask = self.rights.has if kind == "users" else self.rights.role_has
        return ask(engine, name, entity, access)

    def _require_right(self, change: _GrantChange, what: str) -> None:
        """Raise NotDone if the caller lacks any privilege; audited in any case."""
        rights = self.rights
        engine, operation = rights.engine(), f"{change.entity.type}.{what}"
        needed = dict.fromkeys((ADMIN, *change.grant.accesses))
        lacks = [access.upper() for access in needed if not rights.has(engine, change.caller, change.entity, access)]
        if not rights.has(engine, change.caller, change.entity, ADMIN_ACCESS):
            lacks.append("the right to delegate")
        if lacks:
            reason = f"{change.caller} needs {', '.join(lacks)} on {change.entity}"
            rights.authorizer.decider.record_override(denied(operation, change.entity, change.caller, reason))
            raise NotDone(reason)
        rights.require_answer(change.caller, operation, change.entity)

    def _granted(self, change: _GrantChange) -> GrantReply:
        grant = change.grant
        for policy in self._policies(change):
            if policy is None or not is_plain(policy):
                which = f"policy {policy.id}" if policy is not None else "a policy that cannot be read"
                raise NotDone(f"{which} on {change.entity} has more than permissions, which a grant might undo")
            if set(grant.accesses) <= held(policy, grant.user, change.kind):
                return self._outcome(change, wanted=True, changed=False)
        self.admin.grant_access(
            self.rights.service.name, grant, grantor=self.rights.in_ranger(change.caller), to=change.kind
        )
        return self._reply_of_change(change, wanted=True)

    def _revoked(self, change: _GrantChange) -> GrantReply:
        grant = change.grant
        policies = [policy for policy in self._policies(change) if policy is not None]
        if not any(held(policy, grant.user, change.kind) & set(grant.accesses) for policy in policies):
            return self._outcome(change, wanted=False, changed=False)
        self.admin.revoke_access(
            self.rights.service.name, grant, grantor=self.rights.in_ranger(change.caller), to=change.kind
        )
        return self._reply_of_change(change, wanted=False)

    def _policies(self, change: _GrantChange) -> list[Policy | None]:
        """Return the policies that a grant may change: Ranger makes one beside the sync job's for the creator.

        It changes that one, too, once a person has made it list the entity once.
        """
        return [
            policy
            for policy in policies_of(self.rights.engine(), change.grant.resource)
            if policy is None or not (policy.additional_resources and is_creators_policy(policy))
        ]

    def _reply_of_change(self, change: _GrantChange, *, wanted: bool) -> GrantReply:
        """Return the reply after Ranger has changed policies and the change is in effect here."""
        if reason := self.rights.take_effect():
            return GrantReply(done=True, changed=True, reason=reason)
        return self._outcome(change, wanted=wanted, changed=True)

    def _outcome(self, change: _GrantChange, *, wanted: bool, changed: bool) -> GrantReply:
        """Return if the user now has, or no longer has, the accesses: other policies may also decide."""
        grant = change.grant
        odd = [
            a.upper() for a in grant.accesses if self._holds(grant.user, change.kind, change.entity, a) is not wanted
        ]
        if not odd:
            return GrantReply(done=True, changed=changed, reason="")
        still = "does not have" if wanted else "still has"
        reason = f"{grant.user} {still} {', '.join(odd)} on {change.entity}, because of another policy"
        return GrantReply(done=False, changed=changed, reason=f"{IN_RANGER}: {reason}")


def is_masters_own(request: GrantRequest, master: str) -> bool:
    """Return true if CDAP's master grants itself something, as it does at its start; it changes nothing."""
    principal, caller = request.principal, request.caller
    return (
        bool(master)
        and principal is not None
        and (principal.type.upper(), principal.name) == (_USER, master)
        and (caller is None or (caller.type.upper(), caller.name) == (_USER, master))
    )


def cdap_entity(entity: EntityId) -> WireEntity:
    """Return the entity as CDAP's type and the parts of its grants, without versions."""
    parts: Iterable[str] = entity.parts
    if entity.type == "program":
        kind, _, name = entity.parts[2].partition(".")
        parts = (*entity.parts[:2], kind, name)
    return WireEntity(type=entity_type(entity.type).cdap_names[0], parts=list(parts))


def _entity(given: WireEntity) -> EntityId:
    entity = from_cdap(given.type, given.parts)
    if entity == INSTANCE:
        raise NotDone("privileges on the whole instance cannot be granted from CDAP")
    return entity
