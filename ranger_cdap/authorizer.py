"""`Authorizer`: what a program embeds to ask whether a person may do something in CDAP."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from types import TracebackType
from typing import Self

import pluggy

from ranger_cdap.audit import AuditRecord, AuditTrail, open_trail
from ranger_cdap.cdap.answer import Answer, Ask, Examined, compose, denied, is_allowed
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import EntityId, entity_id, to_resource
from ranger_cdap.cdap.profile import ANY, VISIBLE, Profile, load_profile
from ranger_cdap.config import Settings, load_settings
from ranger_cdap.engine import ANY_ACCESS, AccessRequest, Decision, MatchingScope, PolicyEngine
from ranger_cdap.plugins import audit_sinks, plugin_manager
from ranger_cdap.policies.keeper import PolicyKeeper, Snapshot
from ranger_cdap.policies.ranger_admin import RangerAdmin

logger = logging.getLogger(__name__)

ACCESS_TYPES = {ANY: ANY_ACCESS, VISIBLE: ANY_ACCESS}


class Authorizer:
    """Decides CDAP operations by the policies its keeper holds; safe to share between threads.

    One `check` uses one set of policies and one time for everything it asks. What can't be decided is denied.
    """

    def __init__(
        self,
        keeper: PolicyKeeper,
        *,
        instance: str,
        profile: Profile,
        audit: AuditTrail,
        plugins: pluggy.PluginManager,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._keeper = keeper
        self._instance = instance
        self._profile = profile
        self._audit = audit
        self._veto = plugins.hook.ranger_cdap_veto if plugins.hook.ranger_cdap_veto.get_hookimpls() else None
        self._clock = clock

    @classmethod
    def open(cls, settings: Settings | None = None, *, refresh_in_background: bool = True) -> Self:
        """An authorizer for the settings (default: `load_settings()`), with policies downloaded or read from the cache.

        Without either it is returned all the same: it denies, and goes on trying in the background.

        Raises:
            ConfigError: a setting is not usable.
            PluginError: an installed plugin is not usable.
        """
        settings = settings or load_settings()
        profile = load_profile(settings.cdap.profile)
        plugins = plugin_manager()
        audit = open_trail(settings.audit, audit_sinks(plugins))
        admin = RangerAdmin.connect(settings.ranger, settings.plugin.username, settings.plugin.password)
        keeper = PolicyKeeper(admin, settings)
        keeper.refresh()
        if refresh_in_background:
            keeper.start()
        return cls(keeper, instance=settings.cdap.instance, profile=profile, audit=audit, plugins=plugins)

    @property
    def snapshot(self) -> Snapshot:
        """The policies in force and how fresh they are."""
        return self._keeper.snapshot

    def check(
        self,
        user: str,
        groups: Collection[str],
        operation: str,
        entity: EntityId,
        *,
        related: Mapping[str, EntityId] | None = None,
        client_ip: str | None = None,
    ) -> Answer:
        """Whether the user, with those groups, may do the operation (`dataset.get`) on the entity; audited.

        `related` names what else takes part: `artifact`, what an application is deployed from, or `jar`, what an
        uploaded jar becomes.

        Raises:
            InvalidInput: there is no such operation, or it is not about such an entity.
        """
        now = int(self._clock() * 1000)
        answer = self._decide(user, groups, operation, entity, related, client_ip, now)
        self._audit.write(self._records(answer, client_ip or "", now))
        return answer

    def explain(
        self,
        user: str,
        groups: Collection[str],
        operation: str,
        entity: EntityId,
        *,
        related: Mapping[str, EntityId] | None = None,
    ) -> Answer:
        """The answer `check` would give, with everything that was tried, not audited.

        Raises:
            InvalidInput: as `check`.
        """
        return self._decide(user, groups, operation, entity, related, None, int(self._clock() * 1000))

    def visible(self, user: str, groups: Collection[str], entities: Iterable[EntityId]) -> list[EntityId]:
        """The entities on which, or below which, the user has any privilege, in the order given; not audited.

        Raises:
            InvalidEntity: one of them has parts that CDAP does not allow.
        """
        engine = self._keeper.snapshot.engine
        checked = [_verified(entity) for entity in entities]
        if engine is None:
            return []
        now = int(self._clock() * 1000)
        members = frozenset(groups)
        return [entity for entity in checked if self._is_visible(engine, user, members, entity, now)]

    def refresh(self) -> Snapshot:
        """Ask Ranger Admin for changes now and wait for the outcome."""
        return self._keeper.refresh()

    def close(self) -> None:
        """End the background refresh and close the audit sinks."""
        self._keeper.close()
        self._audit.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _decide(
        self,
        user: str,
        groups: Collection[str],
        operation: str,
        entity: EntityId,
        related: Mapping[str, EntityId] | None,
        client_ip: str | None,
        now: int,
    ) -> Answer:
        row = self._profile.operation(operation)
        entity = _verified(entity)
        context = Context({role: (other,) for role, other in (related or {}).items()})
        snapshot = self._keeper.snapshot
        if snapshot.engine is None:
            return denied(operation, entity, user, f"not ready: {snapshot.reason}", ready=False)
        ask = self._ask(snapshot.engine, user, frozenset(groups), client_ip, now)
        answer = compose(row, entity, user, ask, context)
        return self._after_vetoes(answer)

    def _ask(self, engine: PolicyEngine, user: str, groups: frozenset[str], client_ip: str | None, now: int) -> Ask:
        def ask(person: str, entity: EntityId, action: str) -> Decision:
            return engine.evaluate(
                AccessRequest(
                    resource=to_resource(entity, self._instance),
                    access_type=ACCESS_TYPES.get(action) or action.lower(),
                    user=person,
                    groups=groups if person == user else frozenset(),  # nobody else has the user's groups
                    access_time=now,
                    client_ip=client_ip,
                    matching_scope=MatchingScope.SELF_OR_DESCENDANTS if action == VISIBLE else MatchingScope.SELF,
                )
            )

        return ask

    def _is_visible(self, engine: PolicyEngine, user: str, groups: frozenset[str], entity: EntityId, now: int) -> bool:
        decision = engine.evaluate(
            AccessRequest(
                resource=to_resource(entity, self._instance),
                access_type=ANY_ACCESS,
                user=user,
                groups=groups,
                access_time=now,
                matching_scope=MatchingScope.SELF_OR_DESCENDANTS,
            )
        )
        if not is_allowed(decision):
            return False
        examined = Examined(entity, (), ANY_ACCESS, decision, user)
        answer = Answer(True, "visible", entity, user, (), "allowed", decided_by=(examined,))
        return self._after_vetoes(answer).allowed

    def _after_vetoes(self, answer: Answer) -> Answer:
        if self._veto is None or not answer.allowed:
            return answer
        try:
            reasons = self._veto(answer=answer)
        except Exception as e:
            logger.warning("a veto hook failed with %s, so the operation is denied", type(e).__name__)
            return _vetoed(answer, "a veto hook failed")
        return _vetoed(answer, "; ".join(map(str, reasons))) if reasons else answer

    def _records(self, answer: Answer, client_ip: str, now: int) -> list[AuditRecord]:
        """One record for each entity and person with the final result; what was merely tried is not audited."""
        engine = self._keeper.snapshot.engine
        return [
            AuditRecord(
                repo=engine.service_name if engine else "",
                reqUser=examined.person,
                evtTime=now,
                access=answer.operation,
                resource="/".join((self._instance, *examined.entity.parts)),
                resType=examined.entity.type,
                action=examined.action.lower(),
                result=int(answer.allowed),
                policy=examined.decision.policy_id,
                policyVersion=examined.decision.policy_version,
                reason="" if answer.allowed else answer.reason,
                cliIP=client_ip,
            )
            for examined in {(e.person, e.entity): e for e in answer.decided_by}.values()
            if examined.decision.audited
        ]


def _verified(entity: EntityId) -> EntityId:
    """The entity, its parts checked: no name that CDAP does not allow, above all no wildcard, is ever asked about."""
    return entity_id(entity.type, entity.parts)


def _vetoed(answer: Answer, reason: str) -> Answer:
    return Answer(
        allowed=False,
        operation=answer.operation,
        entity=answer.entity,
        person=answer.person,
        requirements=answer.requirements,
        reason=f"vetoed: {reason}",
        decided_by=answer.decided_by,
        tried=answer.tried,
    )
