"""Answers of an access analysis as JSON: rows, the values of their levels, and the requests that show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from ranger_cdap.analysis.logic.witness import Witness
from ranger_cdap.analysis.reach_rows import ReachRow
from ranger_cdap.analysis.report import ImpactRow
from ranger_cdap.analysis.wording import LevelText
from ranger_cdap.engine import AccessStatus
from ranger_cdap.questions.access_holders import AccessHolder
from ranger_cdap.questions.known_user import KnownUser, PolicyView
from ranger_cdap.questions.policy_index import PolicyIndex
from ranger_cdap.questions.reach_questions import ReachAnswer


def level_documents(path: Iterable[str], levels: Sequence[LevelText]) -> list[dict[str, Any]]:
    """Return the levels of a resource as JSON."""
    pairs = zip(path, levels, strict=True)
    return [{"level": name, "values": level.values, "excludes": level.excludes} for name, level in pairs]


def witness_document(witness: Witness) -> dict[str, Any]:
    """Return a request as JSON, without its owner."""
    request = witness.request
    return {
        "user": request.user,
        "groups": sorted(request.groups),
        "roles": sorted(witness.roles),
        "access": request.access_type,
        "resource": [{"level": name, "value": value} for name, value in request.resource.items()],
        "client_ip": request.client_ip,
        "access_time": _iso(request.access_time) if request.access_time else None,
        "action": request.action,
        "cluster_name": request.cluster_name,
        "cluster_type": request.cluster_type,
        "context": [{"name": name, "value": value} for name, value in request.context.items()],
    }


def row_document(row: ReachRow) -> dict[str, Any]:
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
        "conditions": row.conditions,
        "except": row.exceptions,
        "certainty": row.certainty.value,
        "undecided": row.doubts,
        "witnesses": [witness_document(witness) for witness in row.witnesses.values()],
    }


def user_document(view: PolicyView, known: KnownUser, found: ReachAnswer) -> dict[str, Any]:
    """Return what a user has access to as JSON."""
    subject = known.subject
    return {
        "user": subject.user,
        "groups": sorted(subject.groups),
        "roles": sorted(view.engine.state.roles.of(subject.user, subject.groups)),
        "allowed": [row_document(row) for row in found.allowed],
        "denied": [row_document(row) for row in found.denied],
    }


def pattern_document(found: ReachAnswer) -> list[dict[str, Any]]:
    """Return who has access to entities of a pattern as JSON; `whole` is true for a row that covers all of it."""
    return [{**row_document(row), "whole": row.whole} for row in found.allowed]


def holder_document(one: AccessHolder, index: PolicyIndex, accesses: Collection[str]) -> dict[str, object]:
    """Return a holder of access to one entity as JSON, with these access types of theirs."""
    return {
        "kind": one.kind,
        "name": one.name,
        "groups": one.groups,
        "accesses": {
            access: {
                "standing": entry.status.value,
                "policy": index.document(entry.policy_id),
                **({"depends": one.depends.get(access)} if entry.status is AccessStatus.CONDITIONAL else {}),
            }
            for access, entry in one.accesses.items()
            if access in accesses
        },
    }


def impact_document(service: str, rows: Sequence[ImpactRow]) -> dict[str, Any]:
    """Return the rows of an impact as JSON."""
    gained, lost = ([_impact_row(row) for row in rows if row.gained is gained] for gained in (True, False))
    return {"service": service, "gained": gained, "lost": lost}


def _impact_row(row: ImpactRow) -> dict[str, Any]:
    return {
        "policy": None if row.policy_id is None else {"id": row.policy_id, "name": row.policy_name},
        "item": row.item,
        "tag": row.tag or None,
        "zone": row.zone or None,
        "who": row.who,
        "accesses": row.accesses,
        "resource": level_documents(row.path, row.levels),
        "item_resource": level_documents(row.path, row.item_levels),
        "conditions": row.conditions,
        "except": row.exceptions,
        "partial": row.partial,
        "certainty": row.certainty.value,
        "undecided": row.doubts,
        "times": row.times,
        "witnesses": [
            {**witness_document(witness), "owner": witness.request.owner} for witness in row.witnesses.values()
        ],
    }


def _iso(epoch_ms: int) -> str:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).isoformat()
