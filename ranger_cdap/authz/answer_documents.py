"""An answer on an operation of CDAP, and its explanation, as JSON documents."""

from __future__ import annotations

from ranger_cdap.authz.explanation import Explanation, changes
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.requirements import requirement_sentences


def verdict(answer: Answer) -> str:
    """Return `allowed` or `denied`, and mention where it is not enforced."""
    if not answer.enforced:
        return "allowed, because it is not enforced"
    return "allowed" if answer.allowed else "denied"


def as_document(answer: Answer) -> dict[str, object]:
    """Return the answer as a JSON document."""
    return {
        "allowed": answer.allowed,
        "enforced": answer.enforced,
        "ready": answer.ready,
        "user": answer.person,
        "operation": answer.operation,
        "entity": str(answer.entity),
        "requirements": answer.requirements,
        "requirement_sentences": [requirement_sentences()[name] for name in answer.requirements],
        "reason": answer.reason,
        "missing": [
            {"user": m.person, "capacity": m.capacity, "actions": m.actions, "entity": str(m.entity)}
            for m in answer.missing
        ],
        "policies": answer.policy_ids,
    }


def explanation_document(
    answer: Answer, tried: list[list[Explanation]], decisive: list[Explanation], index: PolicyIndex
) -> dict[str, object]:
    """Return an answer with the explanation of each privilege, and the changes that would reverse it."""
    return {
        **as_document(answer),
        "alternatives": [[_reason(explanation, index) for explanation in alternative] for alternative in tried],
        "changes": changes(answer, decisive)[1],
    }


def _reason(explanation: Explanation, index: PolicyIndex) -> dict[str, object]:
    e = explanation.examined
    return {
        "user": e.person,
        "capacity": e.capacity,
        "actions": e.actions,
        "entity": str(e.entity),
        "held": e.held,
        "policy": index.document(e.decision.policy_id),
        "why": explanation.why,
        "items": [
            {"policy": index.document(item.policy_id), "list": item.side, "number": item.number}
            for item in explanation.items
        ],
        "change": explanation.change,
        "others": [
            {"policy": index.document(entry.policy_id), "outcome": entry.outcome, "reason": entry.reason}
            for entry in explanation.others
        ],
    }
