"""Audit records for an answer to a CDAP operation."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from ranger_cdap.audit import AuditedAccess, AuditRecord, record_of
from ranger_cdap.cdap.answer import Answer, EvaluatedPrivilege
from ranger_cdap.engine import NO_POLICY, Decision, PolicyEngine

_UNDECIDED: Final = Decision(allowed=False, determined=False, audited=True)


def records_of(
    answer: Answer,
    outcome: Answer,
    instance: str,
    engine: PolicyEngine | None,
    now: int,
    client_ip: str | None,
    predecessor: bool | None = None,
) -> Iterator[AuditRecord]:
    """Yield one record per entity and user with the final result; other evaluated privileges are not audited.

    `answer` is the result of the policies, `outcome` the answer given. An operation that is not enforced is audited
    with the result of the policies; for an allowed one, the policy that allows is reason enough. An answer that no
    policy decided has one record. `predecessor` is the answer of the predecessor, if it is compared with.
    """
    decided = outcome if outcome.enforced else answer
    for evaluated in _by_entity_and_user(answer.decided_by) or (_undecided(answer),):
        if evaluated.decision.audited:
            yield record_of(
                evaluated.decision,
                engine,
                AuditedAccess(
                    time=now,
                    user=evaluated.person,
                    access=answer.operation,
                    action=evaluated.action.lower(),
                    resource=(instance, *evaluated.entity.parts),
                    resource_type=evaluated.entity.type,
                    client_ip=client_ip,
                ),
                allowed=decided.allowed,
                reason="" if decided.allowed and evaluated.decision.policy_id != NO_POLICY else decided.reason,
                enforced=outcome.enforced,
                predecessor=None if outcome.enforced else predecessor,
            )


def _by_entity_and_user(evaluated: tuple[EvaluatedPrivilege, ...]) -> Collection[EvaluatedPrivilege]:
    return evaluated if len(evaluated) < 2 else {(e.person, e.entity): e for e in evaluated}.values()


def _undecided(answer: Answer) -> EvaluatedPrivilege:
    verb = answer.operation.partition(".")[2]
    return EvaluatedPrivilege(answer.entity, (verb,), verb, _UNDECIDED, answer.person)
