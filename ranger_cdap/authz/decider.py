"""`Decider`: decisions for `Authorizer` and `AccessEnforcer`; internal, not for embedding programs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from copy import copy
from itertools import islice
from typing import Protocol, Self

import pluggy
from msgspec.structs import replace

from ranger_cdap.audit import AuditTrail, open_trail
from ranger_cdap.authz.answer_audit import CheckOrigin, PendingRecord, records_of
from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.authz.decision_context import DecisionContext
from ranger_cdap.authz.groups import GroupHook, GroupResolver
from ranger_cdap.cdap.answer import Answer, Visibility, compose, denied, visibility
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.enforcement import Enforcement, UnenforcedMode
from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.cdap.profile import Operation
from ranger_cdap.config import Settings
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import AuditSinkError, PolicySetError
from ranger_cdap.plugins.manager import audit_sinks, engine_options, plugin_manager
from ranger_cdap.ranger.refresh.documents import Documents
from ranger_cdap.ranger.refresh.fixed import FixedPolicies
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher, Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState

logger = logging.getLogger(__name__)

_CDAP_LEVELS = {"instance", "namespace"}

FinalCheck = Callable[[], str]
"""Return the reason to deny an allowed operation after all; empty if it stays allowed."""

_CLOSED = Snapshot(None, PolicyState.NOT_READY, "the authorizer is closed")

MOST_DESCENDANTS = 1_000
"""Entities below an ancestor that are evaluated, until the user may see one."""

NOTHING_ELSE = Context()
"""Context with no related entities and no impersonation."""


class PolicySource(Protocol):
    """Source of the policies in effect: a `PolicyRefresher`, or `FixedPolicies`."""

    @property
    def snapshot(self) -> Snapshot:
        """Return the policies in effect now."""
        ...

    def refresh_now(self) -> Snapshot:
        """Download changes from Ranger Admin once, and return the policies then in effect."""
        ...

    def refresh_to(self, version: int, timeout: float) -> Snapshot:
        """Return when policies of that version or newer are in effect."""
        ...

    def request_refresh(self) -> None:
        """Request a download soon."""
        ...

    def close(self) -> None:
        """Stop refreshing."""
        ...


class Decider:
    """Decider of operations' rows that also writes the audit; safe to share between threads.

    One call uses one set of policies and one time for all its evaluations. Undecidable operations are denied.
    """

    def __init__(
        self,
        policies: PolicySource,
        config: AuthorizationConfig,
        *,
        audit: AuditTrail,
        plugins: pluggy.PluginManager,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.policies = policies
        self.config = config
        self._audit = audit
        hooks = plugins.hook
        self._veto = hooks.ranger_cdap_veto if hooks.ranger_cdap_veto.get_hookimpls() else None
        self._groups = hooks.ranger_cdap_groups if hooks.ranger_cdap_groups.get_hookimpls() else None
        self._clock = clock
        self._nothing_else = config.with_master(NOTHING_ELSE)
        self._enforces_everything = config.enforcement.everything
        self._closed = False

    @classmethod
    def open(cls, settings: Settings, *, refresh_in_background: bool) -> Self:
        """Return a decider for the policies of Ranger Admin.

        Raises:
            InvalidInput: a setting is not usable.
            PluginError: an installed plugin is not usable.
        """
        # The client for HTTP is a third of this package's import, which policies of a file do without.
        from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
        from ranger_cdap.ranger.client.sign_in import AccountSource

        config = AuthorizationConfig.of(settings)
        plugins = plugin_manager(settings)
        audit = open_trail(settings, audit_sinks(plugins))
        admin = RangerAdmin.connect(
            settings, settings.plugin.username, settings.plugin.password, source=AccountSource.PLUGIN
        )
        refresher = PolicyRefresher(admin, settings, options=engine_options(settings.plugin, plugins))
        refresher.refresh()
        if refresh_in_background:
            refresher.start()
        return cls(refresher, config, audit=audit, plugins=plugins)

    @classmethod
    def of_documents(cls, documents: Documents, settings: Settings) -> Self:
        """Return a decider for policies that never change, without cache, refresh or audit.

        Raises:
            InvalidInput: a setting is not usable.
            PluginError: an installed plugin is not usable.
            PolicySetError: the documents make no set of policies, or not one of a CDAP service.
        """
        plugins = plugin_manager(settings)
        options = engine_options(settings.plugin, plugins)
        policies = FixedPolicies.of(documents, service=settings.ranger.service, options=options)
        if other := other_service_type(policies.snapshot.engine):
            raise PolicySetError(f"its policies are {other}")
        return cls(policies, AuthorizationConfig.of(settings), audit=AuditTrail([]), plugins=plugins)

    @property
    def group_hook(self) -> GroupHook | None:
        """Return the hook that supplies groups; None if nothing implements it."""
        return self._groups

    @property
    def has_decision_hooks(self) -> bool:
        """Return true if hooks take part in decisions, by vetoes or groups."""
        return self._veto is not None or self._groups is not None

    @property
    def audit_is_required(self) -> bool:
        """Return true if each answer waits until its audit record is on disk."""
        return self._audit.is_required

    @property
    def snapshot(self) -> Snapshot:
        """Return the policies in effect and how fresh they are; none after `close`."""
        return _CLOSED if self._closed else self.policies.snapshot

    def check_rows(
        self,
        user: str,
        groups: Collection[str],
        rows: Iterable[tuple[Operation, EntityId]],
        *,
        context: Context = NOTHING_ELSE,
        client_ip: str | None = None,
        final_check: FinalCheck | None = None,
    ) -> list[Answer]:
        """Return the answer to each (operation, entity), in order; audited. Operations need not be the profile's.

        `final_check` is called before the audit is written, if all would be allowed and all are enforced.

        Raises:
            InvalidInput: an operation does not apply to its entity; then none is answered.
        """
        decision_context, unready = self._decision_context(user, groups, client_ip)
        answers = [self._answer(decision_context, unready, user, row, entity, context) for row, entity in rows]
        engine, now = (
            (decision_context.engine, decision_context.now) if decision_context is not None else (None, self.now())
        )
        return self._recorded(answers, engine, now, client_ip, final_check)

    def evaluate_rows(
        self,
        user: str,
        groups: Collection[str],
        rows: Iterable[tuple[Operation, EntityId]],
        *,
        context: Context = NOTHING_ELSE,
    ) -> list[Answer]:
        """Return the answers of `check_rows`, not audited.

        Raises:
            InvalidInput: as `check_rows`.
        """
        decision_context, unready = self._decision_context(user, groups, None)
        answers = [self._answer(decision_context, unready, user, row, e, context) for row, e in rows]
        return [self._outcome(answer) for answer in answers]

    def record_override(
        self, answer: Answer, client_ip: str | None = None, *, final_check: FinalCheck | None = None
    ) -> Answer:
        """Return the final answer for one that no policy decided, with enforcement applied; audited.

        `final_check` is called as in `check_rows`.
        """
        return self._recorded([answer], self.snapshot.engine, self.now(), client_ip, final_check)[0]

    def visibility_of(
        self,
        user: str,
        groups: Collection[str],
        entities: Sequence[EntityId],
        row_of: Callable[[str], Operation],
    ) -> list[Visibility]:
        """Return the user's visibility of each entity by the row of its type, as `check_rows` decides it; not audited.

        With `list_ancestors` also by the rows of entities below it, as far as `MOST_DESCENDANTS` show one. The parts of
        the entities must have been checked, as `entity_id`, `from_cdap` and `resolve_entity` do.
        """
        decision_context, unready = self._decision_context(user, groups, None)
        found = self._visibility_of(decision_context, unready, user, entities, row_of)
        if decision_context is None or not self.config.options.list_ancestors:
            return found
        for n, entity in enumerate(entities):
            is_hidden = row_of(entity.type).lists and not found[n].visible
            for one in islice(decision_context.below(user, entity), MOST_DESCENDANTS if is_hidden else 0):
                (seen,) = self._visibility_of(decision_context, unready, user, [one], row_of)
                found[n] = Visibility(seen.visible, seen.lasting and (seen.visible or found[n].lasting))
                if seen.visible:
                    break
        return found

    def _visibility_of(
        self,
        decision_context: DecisionContext | None,
        unready: str,
        user: str,
        entities: Sequence[EntityId],
        row_of: Callable[[str], Operation],
    ) -> list[Visibility]:
        rows = {kind: row_of(kind) for kind in {entity.type for entity in entities}}
        if decision_context is not None and self._veto is None and self.config.enforcement.everything:
            applied = {kind: self.config.options.applied_to(row) for kind, row in rows.items()}
            ask = decision_context.asking(user)
            return [visibility(applied[e.type], e, user, ask) for e in entities]
        found = []
        for e in entities:
            answer = self._answer(decision_context, unready, user, rows[e.type], e, NOTHING_ELSE)
            lasting = answer.ready and self._veto is None and not answer.conditional
            found.append(Visibility(self._outcome(answer).allowed, lasting=lasting))
        return found

    def enforcing_everything(self) -> Decider:
        """Return a decider by the same policies and hooks that enforces all operations and audits nothing."""
        twin = copy(self)
        twin.config = replace(self.config, enforcement=Enforcement())
        twin._audit, twin._enforces_everything = AuditTrail([]), True
        return twin

    def pinned(self) -> Decider:
        """Return a decider by the policies of now, which it keeps, and the same hooks, that audits nothing."""
        twin = copy(self)
        twin.policies, twin._audit = FixedPolicies(self.snapshot), AuditTrail([])
        return twin

    def close(self) -> None:
        """Stop refreshing and close the audit sinks; from now on everything is denied, without an audit record."""
        self._closed = True
        self.policies.close()
        self._audit.close()

    def _decision_context(
        self, user: str, groups: Collection[str], client_ip: str | None
    ) -> tuple[DecisionContext | None, str]:
        """Return the context to decide in; without policies, None and the reason."""
        snapshot = self.snapshot
        if snapshot.engine is None:
            return None, snapshot.reason
        resolver = GroupResolver.of(snapshot, self._groups, {user: groups})
        return DecisionContext(snapshot.engine, resolver, self.config.instance, self.now(), client_ip), ""

    def now(self) -> int:
        """Return the time by which it decides, in epoch milliseconds."""
        return int(self._clock() * 1000)

    def _answer(
        self,
        decision_context: DecisionContext | None,
        unready: str,
        user: str,
        row: Operation,
        entity: EntityId,
        context: Context,
    ) -> Answer:
        """Return the answer of the policies and the vetoes, enforced or not."""
        entity = verified(entity)
        if decision_context is None:
            return denied(row.name, entity, user, f"not ready: {unready}", ready=False)
        context = self._nothing_else if context is NOTHING_ELSE else self.config.with_master(context)
        answer = compose(row, entity, user, decision_context.ask, context, self.config.options, decision_context.names)
        return self._after_vetoes(answer)

    def _outcome(self, answer: Answer) -> Answer:
        """Return the answer with enforcement applied: as it is where enforced, else by `enforce.outside`."""
        if self._closed:
            return _refused([answer], f"not ready: {_CLOSED.reason}")[0]
        enforcement = self.config.enforcement
        if self._enforces_everything or enforcement.is_enforced(answer.operation, answer.entity.type):
            return answer
        if enforcement.outside is UnenforcedMode.DENY:
            return replace(answer, allowed=False, given_reason=f"`{answer.operation}` is not enabled yet")
        reason = "allowed" if answer.allowed else f"not enforced; it would be denied: {answer.reason}"
        return replace(answer, allowed=True, enforced=False, given_reason=reason)

    def _after_vetoes(self, answer: Answer) -> Answer:
        if self._veto is None or not answer.allowed:
            return answer
        try:
            reasons = self._veto(answer=answer)
        except Exception as e:
            logger.warning("a veto hook failed with %s, so the operation is denied", type(e).__name__)
            reasons = ["a veto hook failed"]
        return (
            replace(answer, allowed=False, given_missing=(), given_reason=f"vetoed: {'; '.join(map(str, reasons))}")
            if reasons
            else answer
        )

    def _recorded(
        self,
        answers: Sequence[Answer],
        engine: PolicyEngine | None,
        now: int,
        client_ip: str | None,
        final_check: FinalCheck | None,
    ) -> list[Answer]:
        """Return the final answers and audit them; an answer whose required record cannot be written is a denial."""

        def records() -> list[PendingRecord]:
            origin = CheckOrigin(self.config, engine, now, client_ip)
            return [
                record
                for answer, outcome in zip(answers, outcomes, strict=True)
                for record in records_of(answer, outcome, origin)
            ]

        if self._closed:
            return [self._outcome(answer) for answer in answers]
        outcomes = list(answers) if self._enforces_everything else [self._outcome(answer) for answer in answers]
        if final_check is not None and all(outcome.allowed and outcome.enforced for outcome in outcomes):
            outcomes = _refused(outcomes, final_check())
        try:
            self._audit.write(records())
        except AuditSinkError as e:
            outcomes = _refused(outcomes, f"access is denied while it cannot be audited ({e})")
            self._audit.write_later(records())
        return outcomes


def _refused(answers: Sequence[Answer], why: str) -> list[Answer]:
    """Return the answers as denials with that reason; unchanged if it is empty."""
    return (
        [replace(answer, allowed=False, enforced=True, given_missing=(), given_reason=why) for answer in answers]
        if why
        else list(answers)
    )


def other_service_type(engine: PolicyEngine | None) -> str:
    """Return `of a service of type ..., not of CDAP` if the policies cannot be about CDAP; empty if they can."""
    return (
        ""
        if engine is None or {resource.name for resource in engine.service_def.resources}.issuperset(_CDAP_LEVELS)
        else f"of a service of type `{engine.service_def.name}`, not of CDAP"
    )


def verified(entity: EntityId) -> EntityId:
    """Return the entity after checking its parts, so that no invalid name and no wildcard is ever evaluated."""
    return entity_id(entity.type, entity.parts)
