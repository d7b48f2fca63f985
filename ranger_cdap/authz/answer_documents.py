"""An answer on an operation of CDAP, and its explanation, as JSON documents."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import to_builtins

from ranger_cdap.authz.explanation import Explanation, changes
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.answer import Answer, Missing
from ranger_cdap.cdap.requirements import requirement_sentences
from ranger_cdap.cdap.unknown_name import UnknownName


def verdict(answer: Answer) -> str:
    """Return `allowed`, `denied` or `undecided`, and mention where it is not enforced."""
    if not answer.enforced:
        return "allowed, because it is not enforced"
    return "allowed" if answer.allowed else "undecided" if answer.undecided else "denied"


def as_document(
    answer: Answer, lacked: Sequence[Missing] | None = None, unknown: Sequence[UnknownName] | None = None
) -> dict[str, object]:
    """Return the answer as a JSON document; with `cdap_asks`, if it is known what CDAP's own checks also need.

    It has `unknown`, if the names in the question were looked up.
    """
    return {
        "allowed": answer.allowed,
        "enforced": answer.enforced,
        "ready": answer.ready,
        **({"undecided": True} if answer.undecided else {}),
        "user": answer.person,
        "operation": answer.operation,
        "entity": str(answer.entity),
        "requirements": answer.requirements,
        "requirement_sentences": [requirement_sentences()[name] for name in answer.requirements],
        "reason": answer.reason,
        "missing": list(map(_missing, answer.missing)),
        **({} if lacked is None else {"cdap_asks": list(map(_missing, lacked))}),
        "policies": answer.policy_ids,
        **({} if unknown is None else {"unknown": to_builtins(unknown)}),
    }


def explanation_document(
    answer: Answer,
    tried: list[list[Explanation]],
    decisive: list[Explanation],
    index: PolicyIndex,
    lacked: Sequence[Missing] | None,
    unknown: Sequence[UnknownName],
) -> dict[str, object]:
    """Return an answer with the explanation of each privilege, and the changes that would reverse it."""
    return {
        **as_document(answer, lacked, unknown),
        "alternatives": [[_reason(explanation, index) for explanation in alternative] for alternative in tried],
        "changes": changes(answer, decisive)[1],
    }


def _missing(m: Missing) -> dict[str, object]:
    return {"user": m.person, "capacity": m.capacity, "actions": m.actions, "entity": str(m.entity)}


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
