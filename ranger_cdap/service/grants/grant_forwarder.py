"""`GrantForwarder`: grants made by users in CDAP, forwarded to Ranger in their own name.

CDAP checks nothing before it calls. Law: only a named user who has, by Ranger's current policies, ADMIN on exactly that
entity, every access granted, and the right to delegate there, can grant or revoke anything; then Ranger decides once
more, per access type, if they may delegate it. No denial is ever revoked.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.answer import denied
from ranger_cdap.cdap.checks.legacy_privileges import accesses_of
from ranger_cdap.cdap.entity import EntityId, entity_type, from_cdap, to_resource
from ranger_cdap.cdap.grant import CREATORS_LABEL, Grant, check_grantee, grant_for, held
from ranger_cdap.cdap.profile import Operation, Privilege
from ranger_cdap.config import Settings
from ranger_cdap.engine import ADMIN_ACCESS, AccessRequest, PolicyEngine
from ranger_cdap.errors import ConfigError, InvalidInput, RangerCdapError
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.client.sign_in import AccountSource
from ranger_cdap.ranger_model.policy import Policy
from ranger_cdap.service.decisions.ranger_service import RangerService
from ranger_cdap.service.grants.entity_grants import granted_to, is_plain, policies_of
from ranger_cdap.service.wire.cdap_wire import WireEntity, WirePrincipal
from ranger_cdap.service.wire.grant_wire import GrantReply, GrantRequest

logger = logging.getLogger(__name__)

IN_RANGER = "edit policies in Ranger"
_USER = "USER"
_ADMIN = "admin"
_INSTANCE = EntityId("instance", ())
_WITHOUT_A_NAME = ("kerberos", "certificate")


class NotDone(Exception):
    """Rejected request; the message is a sentence for the user."""


@dataclass(frozen=True, slots=True)
class _GrantChange:
    caller: str
    entity: EntityId
    grant: Grant


class GrantForwarder:
    """Forwarder of grants, one at a time.

    Raises:
        ConfigError: its account in Ranger is not configured.
    """

    def __init__(self, authorizer: Authorizer, service: RangerService, admin: RangerAdmin) -> None:
        self._authorizer = authorizer
        self._service = service
        self._admin = admin
        self._one_at_a_time = threading.Lock()

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
            raise ConfigError('`service.grants = "bridge"` needs `service.bridge_username` and `bridge_password`')
        admin = RangerAdmin.connect(
            settings.ranger, account.bridge_username, account.bridge_password, source=AccountSource.BRIDGE
        )
        return cls(authorizer, service, admin)

    def close(self) -> None:
        """Close the session."""
        self._admin.close()

    def grant(self, request: GrantRequest) -> GrantReply:
        """Grant permissions."""
        return self._carried_out(request, "grant")

    def revoke(self, request: GrantRequest) -> GrantReply:
        """Revoke permissions."""
        return self._carried_out(request, "revoke")

    def grants(self, caller: WirePrincipal | None, principal: WirePrincipal) -> dict[EntityId, tuple[str, ...]]:
        """Return a user's access types on single entities, by effective policies that name them.

        Raises:
            NotDone: the caller is neither that user nor has ADMIN on the instance.
        """
        asking = _user(caller, "caller")
        user = _user(principal, "principal")
        engine = self._engine()
        if asking != user and not self._has(engine, asking, _INSTANCE, _ADMIN):
            raise NotDone(f"{asking} needs ADMIN on {_INSTANCE}, so only {asking}'s own grants are shown")
        found = granted_to(engine, user, self._authorizer.decider.config.instance)
        given = {
            entity: tuple(access for access in sorted(accesses) if self._has(engine, user, entity, access))
            for entity, accesses in sorted(found.items())
        }
        return {entity: accesses for entity, accesses in given.items() if accesses}

    def _carried_out(self, request: GrantRequest, what: str) -> GrantReply:
        try:
            change = self._parsed(request)
            with self._one_at_a_time:
                # The policies in effect may be minutes old, and a denial that must not be undone may be newer.
                self._authorizer.refresh()
                self._require_right(change, what)
                return self._granted(change) if what == "grant" else self._revoked(change)
        except (NotDone, InvalidInput) as e:
            reason = str(e)
        except RangerCdapError as e:
            logger.warning("a %s from CDAP failed: %s", what, e)
            message = getattr(e, "ranger_message", "")
            reason = f"Ranger Admin says `{message}`" if message else str(e)
        return GrantReply(done=False, changed=False, reason=f"{IN_RANGER}: {reason}")

    def _parsed(self, request: GrantRequest) -> _GrantChange:
        """Parse and validate a request.

        Raises:
            NotDone: the caller or the principal is missing or does not identify a single user.
            InvalidInput: the entity, a permission or a name is invalid or ambiguous.
        """
        caller, user = _user(request.caller, "caller"), _user(request.principal, "principal")
        entity = _entity(request.entity)
        accesses = accesses_of(entity.type, request.permissions or ())
        instance = self._authorizer.decider.config.instance
        grant = grant_for(entity, user, instance, accesses, non_creators=(), with_programs=False)
        return _GrantChange(caller, entity, grant)

    def _require_right(self, change: _GrantChange, what: str) -> None:
        """Raise NotDone if the caller lacks any privilege; audited in any case."""
        engine, name = self._engine(), f"{change.entity.type}.{what}"
        needed = dict.fromkeys((_ADMIN, *change.grant.accesses))
        lacks = [access.upper() for access in needed if not self._has(engine, change.caller, change.entity, access)]
        if not self._has(engine, change.caller, change.entity, ADMIN_ACCESS):
            lacks.append("the right to delegate")
        if lacks:
            reason = f"{change.caller} needs {', '.join(lacks)} on {change.entity}"
            self._authorizer.decider.record_override(denied(name, change.entity, change.caller, reason))
            raise NotDone(reason)
        privilege = Privilege((_ADMIN.upper(),), "entity")
        row = Operation(name=name, entity=change.entity.type, requirements=(), alternatives=((privilege,),))
        (answer,) = self._authorizer.decider.check_rows(change.caller, (), [(row, change.entity)])
        if not answer.allowed:
            raise NotDone(answer.reason)

    def _granted(self, change: _GrantChange) -> GrantReply:
        grant = change.grant
        for policy in policies_of(self._engine(), grant.resource):
            if policy is None or not is_plain(policy):
                which = f"policy {policy.id}" if policy is not None else "a policy that cannot be read"
                raise NotDone(f"{which} on {change.entity} has more than permissions, which a grant might undo")
            _refuse_creators_policy(policy, change.entity)
            if set(grant.accesses) <= held(policy, grant.user):
                return self._outcome(change, wanted=True, changed=False)
        self._admin.grant_access(self._service.name, grant, grantor=change.caller)
        return self._reply_of_change(change, wanted=True)

    def _revoked(self, change: _GrantChange) -> GrantReply:
        grant = change.grant
        policies = [policy for policy in policies_of(self._engine(), grant.resource) if policy is not None]
        if not any(held(policy, grant.user) & set(grant.accesses) for policy in policies):
            return self._outcome(change, wanted=False, changed=False)
        for policy in policies:
            _refuse_creators_policy(policy, change.entity)
        self._admin.revoke_access(self._service.name, grant, grantor=change.caller)
        return self._reply_of_change(change, wanted=False)

    def _reply_of_change(self, change: _GrantChange, *, wanted: bool) -> GrantReply:
        """Return the reply after Ranger has changed policies and the change is in effect here."""
        try:
            self._authorizer.refresh()
        except RangerCdapError as e:
            logger.warning("a change in Ranger is not in effect here yet: %s", e)
            return GrantReply(done=True, changed=True, reason="it is not in effect here yet")
        return self._outcome(change, wanted=wanted, changed=True)

    def _outcome(self, change: _GrantChange, *, wanted: bool, changed: bool) -> GrantReply:
        """Return if the user now has, or no longer has, the accesses: other policies may also decide."""
        engine, grant = self._engine(), change.grant
        odd = [a.upper() for a in grant.accesses if self._has(engine, grant.user, change.entity, a) is not wanted]
        if not odd:
            return GrantReply(done=True, changed=changed, reason="")
        still = "does not have" if wanted else "still has"
        reason = f"{grant.user} {still} {', '.join(odd)} on {change.entity}, because of another policy"
        return GrantReply(done=False, changed=changed, reason=f"{IN_RANGER}: {reason}")

    def _engine(self) -> PolicyEngine:
        snapshot = self._authorizer.snapshot
        if snapshot.engine is None:
            raise NotDone(f"not ready: {snapshot.reason}")
        return snapshot.engine

    def _has(self, engine: PolicyEngine, user: str, entity: EntityId, access: str) -> bool:
        """Return true if policies allow it on the entity itself; options and report mode do not apply."""
        resource = to_resource(entity, self._authorizer.decider.config.instance)
        decision = self._service.decide(
            engine, AccessRequest(resource, access, user=user, access_time=self._service.now())
        )
        return decision.allowed and decision.determined


def _refuse_creators_policy(policy: Policy, entity: EntityId) -> None:
    """Raise NotDone for a creator's policy: the sync job deletes it only if unchanged (architecture.md, decision 9)."""
    if CREATORS_LABEL in policy.policy_labels:
        raise NotDone(f"policy {policy.id} belongs to {entity}'s creator and is managed by the sync job")


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


def _user(principal: WirePrincipal | None, what: str) -> str:
    if principal is None:
        message = {
            "caller": "CDAP does not send the caller (CDAP 6.11 and its extension do)",
            "principal": "the request names no principal",
        }
        raise NotDone(message[what])
    if principal.type.upper() != _USER:
        raise NotDone(f"grants from CDAP are for users only, not for a {principal.type.lower()[:40]}")
    check_grantee(principal.name, non_creators=())
    return principal.name


def _entity(given: WireEntity) -> EntityId:
    entity = from_cdap(given.type, given.parts)
    if entity == _INSTANCE:
        raise NotDone("privileges on the whole instance cannot be granted from CDAP")
    return entity
