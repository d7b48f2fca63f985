"""`CurrentRights`: what Ranger's policies in effect allow whom, as changes made in CDAP are judged by."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.answer import denied
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.grant import check_grantee
from ranger_cdap.cdap.profile import Operation, Privilege
from ranger_cdap.engine import AccessRequest, PolicyEngine, UncertainName, decode_roles
from ranger_cdap.errors import InvalidInput, RangerCdapError, UnsafeGrant
from ranger_cdap.ranger.client.http import is_addressable
from ranger_cdap.ranger_model.download import SecurityZoneInfo
from ranger_cdap.service.decisions.ranger_service import RangerService
from ranger_cdap.service.grants.entity_grants import delegating_items
from ranger_cdap.service.grants.role_book import RoleBook
from ranger_cdap.wire.cdap_wire import WirePrincipal
from ranger_cdap.wire.role_wire import RoleFailure

logger = logging.getLogger(__name__)

INSTANCE = EntityId("instance", ())
ADMIN = "admin"
_USER = "USER"


class NotDone(Exception):
    """Rejected request; the message is a sentence for the user, and `failure` its kind for CDAP."""

    failure = RoleFailure.REFUSED


@dataclass(frozen=True, eq=False, slots=True)
class CurrentRights:
    """The rights by the policies in effect; `one_at_a_time` is held by each change, from its check to its end."""

    authorizer: Authorizer
    service: RangerService
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Let one change be made, by the newest policies: those in effect may be minutes old.

        A denial that must not be undone may be newer than they are.
        """
        with self.one_at_a_time:
            self.authorizer.refresh()
            yield

    def take_effect(self) -> str:
        """Return why a change in Ranger is not in effect here; empty if it is."""
        try:
            self.authorizer.refresh()
        except RangerCdapError as e:
            logger.warning("a change in Ranger is not in effect here yet: %s", e)
            return "it is not in effect here yet"
        return ""

    @property
    def instance(self) -> str:
        """Name of the CDAP instance in Ranger."""
        return self.authorizer.decider.config.instance

    def engine(self) -> PolicyEngine:
        """Return the policies in effect.

        Raises:
            NotDone: there are none.
        """
        snapshot = self.authorizer.snapshot
        if snapshot.engine is None:
            raise NotDone(f"not ready: {snapshot.reason}")
        return snapshot.engine

    def roles(self) -> RoleBook:
        """Return Ranger's roles, as downloaded last.

        Raises:
            NotDone: there are none.
        """
        documents = self.authorizer.snapshot.documents
        if documents is None:
            raise NotDone("not ready: the roles were not downloaded yet")
        return RoleBook.of(documents.roles)

    def in_ranger(self, name: str, kind: str = "users") -> str:
        """Return the name in Ranger of one of CDAP's users or groups.

        Raises:
            NotDone: it is uncertain, or there are no policies.
        """
        names = self.engine().names
        try:
            return names.user(name) if kind == "users" else names.members.of(name)
        except UncertainName as e:
            raise NotDone(f"{name} may have another name in Ranger: {e}") from None

    def groups_of(self, user: str) -> frozenset[str]:
        """Return the user's groups."""
        return self.service.completed(AccessRequest({}, ADMIN, user=user)).groups

    def has(self, engine: PolicyEngine, user: str, entity: EntityId, access: str) -> bool:
        """Return true if policies allow it to a user on the entity itself; options and report mode do not apply."""
        return self._allowed(engine, AccessRequest({}, access, user=user), entity)

    def role_has(self, engine: PolicyEngine, role: str, entity: EntityId, access: str) -> bool:
        """Return true if policies allow it to a user who has only that role."""
        return self._allowed(engine, AccessRequest({}, access, roles=frozenset({role})), entity)

    def delegation(self) -> PolicyEngine:
        """Return an engine that allows an access type exactly where a policy allows to delegate that one.

        Raises:
            NotDone: there are no policies in effect.
        """
        state, documents = self.engine().view, self.authorizer.snapshot.documents
        if documents is None:
            raise NotDone("not ready: the roles were not downloaded yet")
        zones = {
            name: SecurityZoneInfo(
                zone_name=name,
                resources=zone.resources,
                policies=_delegating(entry.raw for entry in state.zones[name].all()),
            )
            for name, zone in state.policies.security_zones.items()
            if name in state.zones
        }
        policies = msgspec.structs.replace(
            state.policies,
            policies=_delegating(entry.raw for entry in state.default.all()),
            policy_deltas=None,
            tag_policies=None,
            security_zones=zones,
        )
        return PolicyEngine.build(policies, service=self.service.name, roles=decode_roles(documents.roles))

    def require_admin(self, caller: str, what: str) -> None:
        """Raise NotDone if the caller lacks ADMIN on the instance; audited as operation `what` in any case."""
        decider = self.authorizer.decider
        if not self.has(self.engine(), caller, INSTANCE, ADMIN):
            reason = f"{caller} needs ADMIN on the instance"
            decider.record_override(denied(what, INSTANCE, caller, reason))
            raise NotDone(reason)
        self.require_answer(caller, what, INSTANCE)

    def require_answer(self, caller: str, what: str, entity: EntityId) -> None:
        """Raise NotDone if the decider, with its hooks, denies ADMIN on the entity; audited as operation `what`."""
        row = Operation(
            name=what,
            entity=entity.type,
            requirements=(),
            alternatives=((Privilege((ADMIN.upper(),), "entity"),),),
        )
        (answer,) = self.authorizer.decider.check_rows(caller, (), [(row, entity)])
        if not answer.allowed:
            raise NotDone(answer.reason)

    def _allowed(self, engine: PolicyEngine, request: AccessRequest, entity: EntityId) -> bool:
        asked = msgspec.structs.replace(
            request, resource=to_resource(entity, self.instance), access_time=self.service.now()
        )
        decision = self.service.decide(engine, asked)
        return decision.allowed and decision.determined


def named_user(principal: WirePrincipal | None, what: str) -> str:
    """Return the name of the caller or principal.

    Raises:
        NotDone: it is missing, or not a user.
        UnsafeGrant: it does not identify a single user.
    """
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


def named_role(name: str) -> str:
    """Return the name of a role.

    Raises:
        NotDone: Ranger could not look it up, or may read more than a name in it.
    """
    try:
        check_grantee(name, non_creators=())
    except UnsafeGrant:
        plain = False
    else:
        plain = is_addressable(name)
    if not plain:
        raise NotDone(f"{name[:80]!a} is not a name for a role: Ranger cannot look it up, or reads more in it")
    return name


def as_sentence(error: NotDone | RangerCdapError, what: str) -> str:
    """Return the sentence of a failed change, `what`: Ranger's own, if there is one. One of Ranger is logged."""
    if isinstance(error, NotDone | InvalidInput):
        return str(error)
    logger.warning("a %s from CDAP failed: %s", what, error)
    message = getattr(error, "ranger_message", "")
    return f"Ranger Admin says `{message}`" if message else str(error)


def _delegating(policies: Iterable[msgspec.Raw]) -> list[msgspec.Raw]:
    found = (delegating_items(raw) for raw in policies)
    return [msgspec.Raw(msgspec.json.encode(policy)) for policy in found if policy is not None]
