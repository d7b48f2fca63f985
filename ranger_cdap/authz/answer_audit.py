"""Audit records for an answer to a CDAP operation."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from ranger_cdap.audit import (
    AuditedAccess,
    AuditedService,
    AuditRecord,
    MissingPrivilege,
    event_id_of,
    event_ids,
    record_of,
)
from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.cdap.answer import Answer, EvaluatedPrivilege
from ranger_cdap.engine import NO_POLICY, Decision, PolicyEngine, UncertainName

_UNDECIDED: Final = Decision(allowed=False, determined=False, audited=True)


class CheckOrigin(msgspec.Struct, frozen=True, gc=False):
    """Circumstances of a check that all its records have: settings, engine that decided, time (epoch ms), address."""

    config: AuthorizationConfig
    engine: PolicyEngine | None
    time: int
    client_ip: str | None

    def user(self, person: str) -> str:
        """Return the name that a user is recorded by, as decided in Ranger; an uncertain name as it is given."""
        try:
            return self.engine.names.user(person) if self.engine is not None else person
        except UncertainName:
            return person


class PendingRecord(msgspec.Struct, frozen=True, gc=False):
    """Audit record of one privilege that decided an answer, before its texts are made.

    `answer` is the result of the policies, `outcome` the answer given. An operation that is not enforced is audited
    with the result of the policies and, if it is denied for lack of privileges, those that this user lacks on this
    entity: its own policy may well allow. For an allowed one, the policy that allows is reason enough.
    """

    evaluated: EvaluatedPrivilege
    answer: Answer
    outcome: Answer
    origin: CheckOrigin
    id_bits: str

    def record(self) -> AuditRecord:
        """Return the record."""
        evaluated, outcome, origin = self.evaluated, self.outcome, self.origin
        decided = outcome if outcome.enforced else self.answer
        return record_of(
            evaluated.decision,
            AuditedService.of(origin.engine, origin.config.cluster, origin.config.service),
            AuditedAccess(
                time=origin.time,
                user=origin.user(evaluated.person),
                access=self.answer.operation,
                action=evaluated.action.lower(),
                resource=(origin.config.instance, *evaluated.entity.parts),
                resource_type=evaluated.entity.type,
                client_ip=origin.client_ip,
            ),
            allowed=decided.allowed,
            reason="" if decided.allowed and evaluated.decision.policy_id != NO_POLICY else decided.reason,
            enforced=outcome.enforced,
            missing=None if outcome.enforced else self._missing(),
            name=event_id_of(self.id_bits),
        )

    def _missing(self) -> tuple[MissingPrivilege, ...] | None:
        """Return what is lacking of this record's user and entity; None if the answer is not for lack of privileges."""
        lacking = [one for one in self.answer.decided_by if not one.held]
        if self.answer.allowed or not lacking:
            return None
        own = (self.evaluated.person, self.evaluated.entity)
        return tuple(
            MissingPrivilege(tuple(map(str.lower, one.actions)), one.decision.policy_id)
            for one in lacking
            if (one.person, one.entity) == own
        )


def records_of(answer: Answer, outcome: Answer, origin: CheckOrigin) -> list[PendingRecord]:
    """Return one record per entity and user with the final result; other evaluated privileges are not audited.

    An answer that no policy decided has one record. Policies may exempt accesses, but not while an operation is only
    reported and enforcing it would change the answer: the change would be known only once it is made.
    """
    draw = event_ids().draw
    is_change = not outcome.enforced and not answer.allowed
    return [
        PendingRecord(evaluated, answer, outcome, origin, draw())
        for evaluated in _by_entity_and_user(answer.decided_by) or (_undecided(answer),)
        if evaluated.decision.audited or is_change
    ]


def _by_entity_and_user(evaluated: tuple[EvaluatedPrivilege, ...]) -> Collection[EvaluatedPrivilege]:
    return evaluated if len(evaluated) < 2 else {(e.person, e.entity): e for e in evaluated}.values()


def _undecided(answer: Answer) -> EvaluatedPrivilege:
    verb = answer.operation.partition(".")[2]
    return EvaluatedPrivilege(answer.entity, (verb,), verb, _UNDECIDED, answer.person)
