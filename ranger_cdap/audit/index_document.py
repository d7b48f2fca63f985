"""Records as documents of the index that Ranger Admin's *Access* page searches, the same in each of its stores.

The names are those of `SolrAuditDestination.toSolrDoc` and `ElasticSearchAuditDestination.toDoc` (Ranger 2.9.0), which
are not all those of the JSON form: `policyVersion`, `zoneName`, `cluster`. The page shows `access`, our operation, as
*Access Type* and `action`, Ranger's access type, as *Permission*; every `result` but 1 as denied; and a link for every
policy but -1. Tags are not sent: a decision does not have the tags of its resource.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.engine import NO_POLICY

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_FIELDS: Final[Mapping[str, Callable[[AuditRecord], Any]]] = {
    "id": lambda r: r.id,
    "access": lambda r: r.access,
    "enforcer": lambda r: r.enforcer,
    "agent": lambda r: r.agent,
    "agentHost": lambda r: r.agentHost,
    "repo": lambda r: r.repo,
    "repoType": lambda r: r.repoType,
    "reqUser": lambda r: r.reqUser,
    "resource": lambda r: r.resource,
    "resType": lambda r: r.resType,
    "cliIP": lambda r: r.cliIP,
    "logType": lambda r: r.logType,
    "result": lambda r: r.result,
    "policy": lambda r: r.policy,
    # The page shows a version of -1 as it is, and `--` for none.
    "policyVersion": lambda r: r.policy_version if r.policy_version != NO_POLICY else "",
    "action": lambda r: r.action,
    "reason": lambda r: r.reason_in_ranger,
    "evtTime": lambda r: _moment(r.evtTime),
    "zoneName": lambda r: r.zone_name,
    "cluster": lambda r: r.cluster_name,
    "event_count": lambda r: r.event_count,
    "event_dur_ms": lambda r: r.event_dur_ms,
}


def document(record: AuditRecord) -> dict[str, Any]:
    """Return the record as a document of Ranger's index, without empty fields; times in UTC, ISO 8601."""
    return {name: value for name, value in ((name, of(record)) for name, of in _FIELDS.items()) if value != ""}


def _moment(milliseconds: int) -> str:
    return (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
