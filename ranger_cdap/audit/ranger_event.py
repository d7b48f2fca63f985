"""Records in the JSON form of Ranger's own audit events, as its plugins write them to files and to Kafka.

Names, order and nulls are those of `AuthzAuditEvent`, written by `MiscUtil.stringify` (Ranger 2.9.0); the names differ
from those of the index (`indexed.py`). `evtTime` is in UTC, without an offset, as readers of such files expect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.engine import NO_POLICY

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_FIELDS: Final[Mapping[str, Callable[[AuditRecord], Any]]] = {
    "repoType": lambda r: r.repoType,
    "repo": lambda r: r.repo,
    "reqUser": lambda r: r.reqUser,
    "evtTime": lambda r: _moment(r.evtTime),
    "access": lambda r: r.access,
    "resource": lambda r: r.resource,
    "resType": lambda r: r.resType,
    "action": lambda r: r.action,
    "result": lambda r: r.result,
    "agent": lambda r: r.agent,
    "policy": lambda r: r.policy,
    "reason": lambda r: r.reason_in_ranger or None,
    "enforcer": lambda r: r.enforcer,
    "sess": lambda _: None,
    "cliType": lambda _: None,
    "cliIP": lambda r: r.cliIP or None,
    "reqData": lambda _: None,
    "agentHost": lambda r: r.agentHost,
    "logType": lambda r: r.logType,
    "id": lambda r: r.id,
    "seq_num": lambda _: 0,
    "event_count": lambda r: r.event_count,
    "event_dur_ms": lambda r: r.event_dur_ms,
    "tags": lambda _: (),
    "datasets": lambda _: None,
    "projects": lambda _: None,
    "additional_info": lambda _: None,
    "cluster_name": lambda r: r.cluster_name or None,
    "zone_name": lambda r: r.zone_name or None,
    "policy_version": lambda r: r.policy_version if r.policy_version != NO_POLICY else None,
}


def ranger_event(record: AuditRecord) -> bytes:
    """Return the record as one JSON object without a line break, UTF-8."""
    return msgspec.json.encode({name: of(record) for name, of in _FIELDS.items()})


def _moment(milliseconds: int) -> str:
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")
