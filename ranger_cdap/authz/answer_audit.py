"""The audit records of an answer to a CDAP operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ranger_cdap.audit import AuditRecord, record_of
from ranger_cdap.cdap.answer import Answer, EvaluatedPrivilege
from ranger_cdap.engine import NO_POLICY, Decision, PolicyEngine

_UNDECIDED: Final = Decision(allowed=False, determined=False, audited=True)


def records_of(
    answer: Answer, outcome: Answer, instance: str, engine: PolicyEngine | None, now: int, client_ip: str | None
) -> Iterator[AuditRecord]:
    """One record for each entity and person with the final result; what was merely tried is not audited.

    `answer` is what the policies say and `outcome` what is answered. What is not enforced is audited as it would be
    decided; a policy that allows is reason enough. An answer that no policy decided has one record.
    """
    decided = outcome if outcome.enforced else answer
    for examined in {(e.person, e.entity): e for e in answer.decided_by or (_undecided(answer),)}.values():
        if examined.decision.audited:
            yield record_of(
                examined.decision,
                engine,
                time=now,
                person=examined.person,
                access=answer.operation,
                action=examined.action.lower(),
                resource=(instance, *examined.entity.parts),
                resource_type=examined.entity.type,
                allowed=decided.allowed,
                reason="" if decided.allowed and examined.decision.policy_id != NO_POLICY else decided.reason,
                client_ip=client_ip,
                enforced=outcome.enforced,
            )


def _undecided(answer: Answer) -> EvaluatedPrivilege:
    verb = answer.operation.partition(".")[2]
    return EvaluatedPrivilege(answer.entity, (verb,), verb, _UNDECIDED, answer.person)
