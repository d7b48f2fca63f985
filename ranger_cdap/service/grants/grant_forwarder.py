"""`GrantForwarder`: grants that people make in CDAP, passed on to Ranger in their own name.

CDAP checks nothing before it calls. Law: nothing is given or taken but by a named user who has ADMIN on exactly that
entity, every access granted, and the right to delegate there, by the policies Ranger has at this moment; and then
Ranger decides once more, access type by access type, whether they may delegate it. No denial is ever revoked.
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
from ranger_cdap.engine.model.wire import Policy
from ranger_cdap.errors import ConfigError, InvalidInput, RangerCdapError
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
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
    """The message says why, in a sentence for the person who asked."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A grant or a revocation that somebody asked for, in our words."""

    caller: str
    entity: EntityId
    grant: Grant


class GrantForwarder:
    """Passes grants on, one at a time.

    Raises:
        ConfigError: the account that carries them is not configured.
    """

    def __init__(self, authorizer: Authorizer, service: RangerService, admin: RangerAdmin) -> None:
        self._authorizer = authorizer
        self._service = service
        self._admin = admin
        self._one_at_a_time = threading.Lock()

    @classmethod
    def of(cls, settings: Settings, authorizer: Authorizer, service: RangerService) -> GrantForwarder | None:
        """That of the settings; None where `service.grants` is `refuse`.

        Raises:
            ConfigError: the account that carries grants is not configured.
        """
        account = settings.service
        if account.grants == "refuse":
            return None
        if not account.bridge_username and settings.ranger.auth not in _WITHOUT_A_NAME:
            raise ConfigError('`service.grants = "bridge"` needs `service.bridge_username` and `bridge_password`')
        admin = RangerAdmin.connect(settings.ranger, account.bridge_username, account.bridge_password)
        return cls(authorizer, service, admin)

    def close(self) -> None:
        """Close the session."""
        self._admin.close()

    def grant(self, request: GrantRequest) -> GrantReply:
        """Give permissions."""
        return self._carried_out(request, "grant")

    def revoke(self, request: GrantRequest) -> GrantReply:
        """Take permissions away."""
        return self._carried_out(request, "revoke")

    def grants(self, caller: WirePrincipal | None, principal: WirePrincipal) -> dict[EntityId, tuple[str, ...]]:
        """The access types a user has on single entities by policies that name them, as far as they are in effect.

        Raises:
            NotDone: the caller is neither that user nor has ADMIN on the instance.
        """
        asking = _user(caller, "caller")
        user = _user(principal, "principal")
        engine = self._engine()
        if asking != user and not self._has(engine, asking, _INSTANCE, _ADMIN):
            raise NotDone(f"{asking} needs ADMIN on {_INSTANCE}, so only {asking}'s own grants are shown")
        found = granted_to(engine, user, self._authorizer.decider.rules.instance)
        given = {
            entity: tuple(access for access in sorted(accesses) if self._has(engine, user, entity, access))
            for entity, accesses in sorted(found.items())
        }
        return {entity: accesses for entity, accesses in given.items() if accesses}

    def _carried_out(self, request: GrantRequest, what: str) -> GrantReply:
        try:
            asked = self._asked(request)
            with self._one_at_a_time:
                # What was in effect may be minutes old, and the denial that must not be taken back new.
                self._authorizer.refresh()
                self._require_right(asked, what)
                return self._granted(asked) if what == "grant" else self._revoked(asked)
        except (NotDone, InvalidInput) as e:
            reason = str(e)
        except RangerCdapError as e:
            logger.warning("a %s from CDAP was not carried out: %s", what, e)
            said = getattr(e, "ranger_message", "")
            reason = f"Ranger Admin says `{said}`" if said else str(e)
        return GrantReply(done=False, changed=False, reason=f"{IN_RANGER}: {reason}")

    def _asked(self, request: GrantRequest) -> _Asked:
        """What is asked, if it is something that may be asked at all.

        Raises:
            NotDone: the caller or the principal is missing or does not identify a single user.
            InvalidInput: the entity, a permission or a name is none, or stands for more than one.
        """
        caller, user = _user(request.caller, "caller"), _user(request.principal, "principal")
        entity = _entity(request.entity)
        accesses = accesses_of(entity.type, request.permissions or ())
        instance = self._authorizer.decider.rules.instance
        grant = grant_for(entity, user, instance, accesses, non_creators=(), with_programs=False)
        return _Asked(caller, entity, grant)

    def _require_right(self, asked: _Asked, what: str) -> None:
        """Raises NotDone where the caller lacks anything; audited in any case."""
        engine, name = self._engine(), f"{asked.entity.type}.{what}"
        needed = dict.fromkeys((_ADMIN, *asked.grant.accesses))
        lacks = [access.upper() for access in needed if not self._has(engine, asked.caller, asked.entity, access)]
        if not self._has(engine, asked.caller, asked.entity, ADMIN_ACCESS):
            lacks.append("the right to delegate")
        if lacks:
            reason = f"{asked.caller} needs {', '.join(lacks)} on {asked.entity}"
            self._authorizer.decider.settle(denied(name, asked.entity, asked.caller, reason))
            raise NotDone(reason)
        privilege = Privilege((_ADMIN.upper(),), "entity")
        row = Operation(name=name, entity=asked.entity.type, requirements=(), alternatives=((privilege,),))
        (answer,) = self._authorizer.decider.check_rows(asked.caller, (), [(row, asked.entity)])
        if not answer.allowed:
            raise NotDone(answer.reason)

    def _granted(self, asked: _Asked) -> GrantReply:
        grant = asked.grant
        for policy in policies_of(self._engine(), grant.resource):
            if policy is None or not is_plain(policy):
                which = f"policy {policy.id}" if policy is not None else "a policy that cannot be read"
                raise NotDone(f"{which} on {asked.entity} holds more than permissions, and a grant might undo that")
            _refuse_creators_policy(policy, asked.entity)
            if set(grant.accesses) <= held(policy, grant.user):
                return self._outcome(asked, wanted=True, changed=False)
        self._admin.grant_access(self._service.name, grant, grantor=asked.caller)
        return self._told(asked, wanted=True)

    def _revoked(self, asked: _Asked) -> GrantReply:
        grant = asked.grant
        policies = [policy for policy in policies_of(self._engine(), grant.resource) if policy is not None]
        if not any(held(policy, grant.user) & set(grant.accesses) for policy in policies):
            return self._outcome(asked, wanted=False, changed=False)
        for policy in policies:
            _refuse_creators_policy(policy, asked.entity)
        self._admin.revoke_access(self._service.name, grant, grantor=asked.caller)
        return self._told(asked, wanted=False)

    def _told(self, asked: _Asked, *, wanted: bool) -> GrantReply:
        """The reply after Ranger has changed something, and after the change is in effect here."""
        try:
            self._authorizer.refresh()
        except RangerCdapError as e:
            logger.warning("a change is made in Ranger and not in effect here yet: %s", e)
            return GrantReply(done=True, changed=True, reason="it is not in effect here yet")
        return self._outcome(asked, wanted=wanted, changed=True)

    def _outcome(self, asked: _Asked, *, wanted: bool, changed: bool) -> GrantReply:
        """Whether the user has, or has no longer, what was meant: other policies have a say, too."""
        engine, grant = self._engine(), asked.grant
        odd = [a.upper() for a in grant.accesses if self._has(engine, grant.user, asked.entity, a) is not wanted]
        if not odd:
            return GrantReply(done=True, changed=changed, reason="")
        still = "does not have" if wanted else "still has"
        reason = f"{grant.user} {still} {', '.join(odd)} on {asked.entity}, because of another policy"
        return GrantReply(done=False, changed=changed, reason=f"{IN_RANGER}: {reason}")

    def _engine(self) -> PolicyEngine:
        snapshot = self._authorizer.snapshot
        if snapshot.engine is None:
            raise NotDone(f"not ready: {snapshot.reason}")
        return snapshot.engine

    def _has(self, engine: PolicyEngine, user: str, entity: EntityId, access: str) -> bool:
        """Whether policies give it on the entity itself: no option widens it, and reporting only does not count."""
        resource = to_resource(entity, self._authorizer.decider.rules.instance)
        decision = self._service.decide(
            engine, AccessRequest(resource, access, user=user, access_time=self._service.now())
        )
        return decision.allowed and decision.determined


def _refuse_creators_policy(policy: Policy, entity: EntityId) -> None:
    """The sync job deletes it with its entity only if it is unchanged (architecture.md, decision 9)."""
    if CREATORS_LABEL in policy.policyLabels:
        raise NotDone(f"policy {policy.id} is that of {entity}'s creator, which the sync job keeps")


def is_masters_own(request: GrantRequest, master: str) -> bool:
    """Whether CDAP's master gives itself something, as it does when it starts; it changes nothing."""
    principal, caller = request.principal, request.caller
    return (
        bool(master)
        and principal is not None
        and (principal.type.upper(), principal.name) == (_USER, master)
        and (caller is None or (caller.type.upper(), caller.name) == (_USER, master))
    )


def cdap_entity(entity: EntityId) -> WireEntity:
    """The entity as CDAP's type and the parts of its grants, without versions."""
    parts: Iterable[str] = entity.parts
    if entity.type == "program":
        kind, _, name = entity.parts[2].partition(".")
        parts = (*entity.parts[:2], kind, name)
    return WireEntity(type=entity_type(entity.type).cdap_names[0], parts=list(parts))


def _user(principal: WirePrincipal | None, what: str) -> str:
    if principal is None:
        said = {
            "caller": "CDAP does not say who asks (CDAP 6.11 and its extension do)",
            "principal": "nobody is named to whom it belongs",
        }
        raise NotDone(said[what])
    if principal.type.upper() != _USER:
        raise NotDone(f"only users are granted something from CDAP, not the {principal.type.lower()[:40]}")
    check_grantee(principal.name, non_creators=())
    return principal.name


def _entity(given: WireEntity) -> EntityId:
    entity = from_cdap(given.type, given.parts)
    if entity == _INSTANCE:
        raise NotDone("privileges on the whole instance are not handed out from CDAP")
    return entity
