"""Answers of an access analysis as JSON: rows, the values of their levels, and the requests that show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from ranger_cdap.authz.answer_documents import entity_document
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.engine import Verdict
from ranger_cdap.tools.analysis.access_row import AccessRow
from ranger_cdap.tools.analysis.logic.witness import Witness
from ranger_cdap.tools.analysis.row_text import LevelText
from ranger_cdap.tools.questions.access_holders import AccessHolder
from ranger_cdap.tools.questions.effective_access import EffectiveAccess
from ranger_cdap.tools.questions.known_user import KnownUser, PolicyView


def level_documents(path: Iterable[str], levels: Sequence[LevelText]) -> list[dict[str, Any]]:
    """Return the levels of a resource as JSON."""
    pairs = zip(path, levels, strict=True)
    return [{"level": name, "values": level.values, "excludes": level.excludes} for name, level in pairs]


def witness_document(witness: Witness) -> dict[str, Any]:
    """Return a request as JSON."""
    request = witness.request
    return {
        "user": request.user,
        "groups": sorted(request.groups),
        "roles": sorted(witness.roles),
        "access": request.access_type,
        "resource": [{"level": name, "value": value} for name, value in request.resource.items()],
        "owner": request.owner,
        "client_ip": request.client_ip,
        "access_time": _iso(request.access_time) if request.access_time else None,
        "action": request.action,
        "cluster_name": request.cluster_name,
        "cluster_type": request.cluster_type,
        "context": [{"name": name, "value": value} for name, value in request.context.items()],
    }


def row_document(row: AccessRow) -> dict[str, Any]:
    """Return a row as JSON."""
    return {
        "policy": None if row.policy_id is None else {"id": row.policy_id, "name": row.policy_name},
        "list": row.side or None,
        "item": row.item,
        "tag": row.tag or None,
        "zone": row.zone or None,
        "who": row.who,
        "accesses": row.accesses,
        "resource": level_documents(row.path, row.levels),
        "item_resource": level_documents(row.path, row.item_levels or row.levels),
        "whole": row.whole,
        "partial": row.partial,
        "conditions": row.conditions,
        "except": row.exceptions,
        "undecided": row.doubts,
        "times": row.times,
        "witnesses": [witness_document(witness) for witness in row.witnesses.values()],
    }


def reach_document(
    view: PolicyView, known: KnownUser | None, pattern: EntityPattern | None, found: EffectiveAccess
) -> dict[str, Any]:
    """Return the access of a user or anyone as JSON; `whole` is true for a row that covers all that was asked about."""
    subject = known.subject if known is not None else None
    return {
        "user": subject.user if subject else None,
        "groups": sorted(subject.groups) if subject else [],
        "roles": sorted(view.engine.view.roles.of(subject.user, subject.groups)) if subject else [],
        "entity": entity_document(pattern) if pattern else None,
        "allowed": [row_document(row) for row in found.allowed],
        "denied": [row_document(row) for row in found.denied],
    }


def holder_document(one: AccessHolder, index: PolicyIndex, accesses: Collection[str]) -> dict[str, object]:
    """Return a holder of access to one entity as JSON, with these access types of theirs."""
    return {
        "kind": one.kind,
        "name": one.name,
        "groups": one.groups,
        "accesses": {
            access: {
                "verdict": entry.verdict,
                "policy": index.document(entry.policy_id),
                **({"depends": one.depends.get(access)} if entry.verdict is Verdict.CONDITIONAL else {}),
            }
            for access, entry in one.accesses.items()
            if access in accesses
        },
    }


def impact_document(service: str, rows: Sequence[AccessRow]) -> dict[str, Any]:
    """Return the rows of an impact as JSON."""
    gained, lost = ([row_document(row) for row in rows if row.gained is gained] for gained in (True, False))
    return {"service": service, "gained": gained, "lost": lost}


def _iso(epoch_ms: int) -> str:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).isoformat()
