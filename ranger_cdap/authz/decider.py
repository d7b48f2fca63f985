"""`Decider`: what `Authorizer` and `AccessEnforcer` decide with; internal, and not a program's to call."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import pluggy
from msgspec.structs import replace

from ranger_cdap.audit import AuditRecord, AuditTrail, open_trail
from ranger_cdap.authz.answer_audit import records_of
from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.authz.decision_context import DecisionContext
from ranger_cdap.authz.groups import GroupResolver
from ranger_cdap.cdap.answer import Answer, EvaluatedPrivilege, compose, denied, is_allowed
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.enforcement import UnenforcedMode
from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.cdap.profile import VISIBLE, Operation
from ranger_cdap.config import Settings
from ranger_cdap.engine import EngineOptions, PolicyEngine
from ranger_cdap.errors import AuditSinkError
from ranger_cdap.plugins.manager import audit_sinks, condition_makers, plugin_manager
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.policies.refresh.fixed import FixedPolicies
from ranger_cdap.policies.refresh.policy_refresher import PolicyRefresher, Snapshot

logger = logging.getLogger(__name__)

LastWord = Callable[[], str]
"""Return why what would be allowed is denied all the same; empty if it stands."""

NOTHING_ELSE = Context()
"""Nothing but user, operation and entity takes part."""


class Policies(Protocol):
    """The policies in effect: a `PolicyRefresher`, or `FixedPolicies`."""

    @property
    def snapshot(self) -> Snapshot:
        """The policies in effect now."""
        ...

    def refresh_now(self) -> Snapshot:
        """Ask Ranger Admin once, and return what is in effect then."""
        ...

    def request_refresh(self) -> None:
        """Have Ranger Admin asked soon."""
        ...

    def close(self) -> None:
        """Stop refreshing."""
        ...


@dataclass(frozen=True, slots=True)
class Visibility:
    """Whether a user sees an entity; `lasting` if the same policies say so at any time and from anywhere."""

    seen: bool
    lasting: bool


class Decider:
    """Decides rows of operations and writes the audit; safe to share between threads.

    One call uses one set of policies and one time for everything it asks. What cannot be decided is denied.
    """

    def __init__(
        self,
        policies: Policies,
        rules: AuthorizationConfig,
        *,
        audit: AuditTrail,
        plugins: pluggy.PluginManager,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.policies = policies
        self.rules = rules
        self._audit = audit
        hooks = plugins.hook
        self._veto = hooks.ranger_cdap_veto if hooks.ranger_cdap_veto.get_hookimpls() else None
        self._groups = hooks.ranger_cdap_groups if hooks.ranger_cdap_groups.get_hookimpls() else None
        self._clock = clock
        self._nothing_else = rules.with_master(NOTHING_ELSE)

    @classmethod
    def open(cls, settings: Settings, *, refresh_in_background: bool) -> Self:
        """A decider by the policies of Ranger Admin.

        Raises:
            InvalidInput: a setting is not usable.
            PluginError: an installed plugin is not usable.
        """
        rules = AuthorizationConfig.of(settings)
        plugins = plugin_manager()
        audit = open_trail(settings.audit, audit_sinks(plugins))
        admin = RangerAdmin.connect(settings.ranger, settings.plugin.username, settings.plugin.password)
        refresher = PolicyRefresher(admin, settings, options=EngineOptions(conditions=condition_makers(plugins)))
        refresher.refresh()
        if refresh_in_background:
            refresher.start()
        return cls(refresher, rules, audit=audit, plugins=plugins)

    @classmethod
    def of_documents(cls, documents: Documents, settings: Settings) -> Self:
        """A decider by policies that stay as they are; nothing is cached, refreshed or audited.

        Raises:
            InvalidInput: a setting is not usable.
            PluginError: an installed plugin is not usable.
            PolicySetError: the documents make no set of policies.
        """
        plugins = plugin_manager()
        options = EngineOptions(conditions=condition_makers(plugins))
        policies = FixedPolicies.of(documents, service=settings.ranger.service, options=options)
        return cls(policies, AuthorizationConfig.of(settings), audit=AuditTrail([]), plugins=plugins)

    @property
    def has_decision_hooks(self) -> bool:
        """Whether programs other than the policies have a say, or know of groups."""
        return self._veto is not None or self._groups is not None

    @property
    def audit_is_required(self) -> bool:
        """Whether each answer waits until the disk has its audit record."""
        return self._audit.is_required

    @property
    def snapshot(self) -> Snapshot:
        """The policies in effect and how fresh they are."""
        return self.policies.snapshot

    def check_rows(
        self,
        user: str,
        groups: Collection[str],
        rows: Iterable[tuple[Operation, EntityId]],
        *,
        context: Context = NOTHING_ELSE,
        client_ip: str | None = None,
        last_word: LastWord | None = None,
    ) -> list[Answer]:
        """The answers to each (operation, entity), in order; audited. The operations need not be the profile's.

        `last_word` is asked before the audit is written, if all would be allowed and all is enforced.

        Raises:
            InvalidInput: an operation is not about such an entity; then none is answered.
        """
        moment, unready = self._moment(user, groups, client_ip)
        answers = [self._answer(moment, unready, user, row, entity, context) for row, entity in rows]
        engine, now = (moment.engine, moment.now) if moment is not None else (None, self._now())
        return self._recorded(answers, engine, now, client_ip, last_word)

    def evaluate_rows(
        self,
        user: str,
        groups: Collection[str],
        rows: Iterable[tuple[Operation, EntityId]],
        *,
        context: Context = NOTHING_ELSE,
    ) -> list[Answer]:
        """The answers of `check_rows`, not audited.

        Raises:
            InvalidInput: as `check_rows`.
        """
        moment, unready = self._moment(user, groups, None)
        return [self._outcome(self._answer(moment, unready, user, row, e, context)) for row, e in rows]

    def settle(self, answer: Answer, client_ip: str | None = None, *, last_word: LastWord | None = None) -> Answer:
        """What becomes of an answer that no policy decided: outside what is enforced, the mode speaks; audited.

        `last_word` is asked as in `check_rows`.
        """
        return self._recorded([answer], self.policies.snapshot.engine, self._now(), client_ip, last_word)[0]

    def visibility_of(
        self, user: str, groups: Collection[str], entities: Iterable[EntityId], *, verb: str
    ) -> list[Visibility]:
        """Of each entity whether the user sees it, as operation `<type>.<verb>`; not audited.

        The names of the entities must have been checked: as `entity_id`, `from_cdap` and `place` do.
        """
        moment, unready = self._moment(user, groups, None)
        if moment is not None and self._veto is None and self.rules.enforcement.everything:
            decisions = (moment.ask(user, entity, VISIBLE) for entity in entities)
            return [Visibility(is_allowed(decision), not decision.conditional) for decision in decisions]
        return [self._sight(moment, unready, user, entity, verb) for entity in entities]

    def close(self) -> None:
        """Stop refreshing and close the audit sinks."""
        self.policies.close()
        self._audit.close()

    def _moment(self, user: str, groups: Collection[str], client_ip: str | None) -> tuple[DecisionContext | None, str]:
        """What decides now; without policies nothing, and why."""
        snapshot = self.policies.snapshot
        if snapshot.engine is None:
            return None, snapshot.reason
        people = GroupResolver({user: groups}, snapshot.groups_of, self._groups)
        return DecisionContext(snapshot.engine, people, self.rules.instance, self._now(), client_ip), ""

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _answer(
        self,
        moment: DecisionContext | None,
        unready: str,
        user: str,
        row: Operation,
        entity: EntityId,
        context: Context,
    ) -> Answer:
        """What the policies and the vetoes say, whether or not it is enforced."""
        entity = verified(entity)
        if moment is None:
            return denied(row.name, entity, user, f"not ready: {unready}", ready=False)
        context = self._nothing_else if context is NOTHING_ELSE else self.rules.with_master(context)
        return self._after_vetoes(compose(row, entity, user, moment.ask, context, self.rules.options))

    def _outcome(self, answer: Answer) -> Answer:
        """The answer itself where it is enforced, else what becomes of everything outside."""
        enforcement = self.rules.enforcement
        if enforcement.covers(answer.operation, answer.entity.type):
            return answer
        if enforcement.outside is UnenforcedMode.DENY:
            return replace(answer, allowed=False, reason=f"`{answer.operation}` is not enabled yet")
        told = "allowed" if answer.allowed else f"not enforced; it would be denied: {answer.reason}"
        return replace(answer, allowed=True, enforced=False, reason=told)

    def _sight(
        self, moment: DecisionContext | None, unready: str, user: str, entity: EntityId, verb: str
    ) -> Visibility:
        operation = f"{entity.type}.{verb}"
        if moment is None:
            return Visibility(
                self._outcome(denied(operation, entity, user, unready, ready=False)).allowed, lasting=False
            )
        examined = EvaluatedPrivilege(entity, (VISIBLE,), VISIBLE, moment.ask(user, entity, VISIBLE), user)
        answer = Answer(is_allowed(examined.decision), operation, entity, user, (), "", decided_by=(examined,))
        seen = self._outcome(self._after_vetoes(answer)).allowed
        return Visibility(seen, lasting=self._veto is None and not examined.decision.conditional)

    def _after_vetoes(self, answer: Answer) -> Answer:
        if self._veto is None or not answer.allowed:
            return answer
        try:
            reasons = self._veto(answer=answer)
        except Exception as e:
            logger.warning("a veto hook failed with %s, so the operation is denied", type(e).__name__)
            reasons = ["a veto hook failed"]
        if not reasons:
            return answer
        return replace(answer, allowed=False, missing=(), reason=f"vetoed: {'; '.join(map(str, reasons))}")

    def _recorded(
        self,
        answers: Sequence[Answer],
        engine: PolicyEngine | None,
        now: int,
        client_ip: str | None,
        last_word: LastWord | None,
    ) -> list[Answer]:
        """What is answered in the end, and on record as such; what must be audited and cannot be is denied."""

        def records() -> list[AuditRecord]:
            pairs = zip(answers, outcomes, strict=True)
            return [
                record for pair in pairs for record in records_of(*pair, self.rules.instance, engine, now, client_ip)
            ]

        outcomes = [self._outcome(answer) for answer in answers]
        if last_word is not None and all(outcome.allowed and outcome.enforced for outcome in outcomes):
            outcomes = _refused(outcomes, last_word())
        try:
            self._audit.write(records())
        except AuditSinkError as e:
            outcomes = _refused(outcomes, f"access is denied while it cannot be audited ({e})")
            self._audit.write_later(records())
        return outcomes


def _refused(answers: Sequence[Answer], why: str) -> list[Answer]:
    """The answers as denials for that reason; as they are if there is none."""
    if not why:
        return list(answers)
    return [replace(answer, allowed=False, enforced=True, missing=(), reason=why) for answer in answers]


def verified(entity: EntityId) -> EntityId:
    """The entity, its parts checked: no name that CDAP does not allow, above all no wildcard, is ever asked about."""
    return entity_id(entity.type, entity.parts)
