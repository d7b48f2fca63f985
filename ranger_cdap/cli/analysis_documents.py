"""Parts of an access analysis as JSON: the request that shows a row, and the values of its levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from ranger_cdap.analysis.logic.witness import Witness
from ranger_cdap.analysis.wording import LevelText


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


def _iso(epoch_ms: int) -> str:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).isoformat()
